/// A gzip file (RFC 1952) of stored blocks (RFC 1951 §3.2.4). The file is valid, but not smaller
/// than its content.
enum Gzip {
    /// Maximum number of bytes in one stored block.
    static let blockBytesMax = 65_535

    private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

    static func file(of bytes: [UInt8]) -> [UInt8] {
        var file = header
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(blockBytesMax)
            rest = rest.dropFirst(blockBytesMax)
            file.append(rest.isEmpty ? 1 : 0)
            let count = UInt16(block.count)
            for number in [count, ~count] { file.append(littleEndian: number) }
            file.append(contentsOf: block)
        } while !rest.isEmpty
        file.append(littleEndian: crc32(of: bytes))
        file.append(littleEndian: UInt32(truncatingIfNeeded: bytes.count))
        return file
    }

    static func crc32(of bytes: [UInt8]) -> UInt32 {
        var sum: UInt32 = 0xFFFF_FFFF
        for byte in bytes { sum = table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ sum >> 8 }
        return ~sum
    }

    /// The CRC-32 remainder of each byte (RFC 1952 §8).
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { sum, _ in
            sum & 1 == 1 ? 0xEDB8_8320 ^ sum >> 1 : sum >> 1
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append<Number: FixedWidthInteger>(littleEndian number: Number) {
        for place in 0..<Number.bitWidth / 8 {
            append(UInt8(truncatingIfNeeded: number >> Number(place * 8)))
        }
    }
}
