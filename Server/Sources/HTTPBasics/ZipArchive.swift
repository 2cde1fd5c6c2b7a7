/// Writes a ZIP archive, one file after the other, without compression and without the format's
/// extension for large archives (PKWARE APPNOTE 6.3.10).
///
/// All files have the date 1980-01-01, so the same files make the same archive.
package struct ZipArchive: Sendable {
    /// The maximum number of files. The format counts them in 16 bits, and reserves the last value.
    package static let filesMax = 65_534
    /// The maximum length of the archive in bytes. The format counts them in 32 bits, and reserves
    /// the last value.
    package static let bytesMax = 4_294_967_294
    /// The maximum length of a file's name, in bytes of UTF-8.
    package static let nameBytesMax = 1_024

    /// The error if a file does not fit into the archive. The description names the limit.
    package struct Full: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    private var directory: [UInt8] = []
    private var filesCount = 0
    private var bytesCount = 0

    package init() {}

    /// Adds a file, and returns the next bytes of the archive.
    ///
    /// - Parameter name: the path of the file in the archive, with `/` between folders.
    package mutating func add(_ name: String, _ content: [UInt8]) throws(Full) -> [UInt8] {
        let path = Array(name.utf8)
        let (entryBytes, directoryBytes) = (30 + path.count, 46 + path.count)
        let length = bytesCount + entryBytes + content.count
        guard filesCount < Self.filesMax else {
            throw Full(description: "A ZIP archive has at most \(Self.filesMax) files.")
        }
        guard path.count <= Self.nameBytesMax else {
            throw Full(description: "A file's name has at most \(Self.nameBytesMax) bytes.")
        }
        guard length + directory.count + directoryBytes + Self.endBytes <= Self.bytesMax else {
            throw Full(description: "A ZIP archive has at most \(Self.bytesMax) bytes.")
        }
        let facts =
            Self.little(Self.version) + Self.little(Self.namesAreUTF8) + Self.little(Self.stored)
            + Self.little(0) + Self.little(Self.firstDate)
            + Self.little32(Checksum.crc32(content)) + Self.little32(UInt32(content.count))
            + Self.little32(UInt32(content.count)) + Self.little(UInt16(path.count))
            + Self.little(0)
        directory +=
            Self.little32(0x0201_4b50) + Self.little(Self.version) + facts
            + [UInt8](repeating: 0, count: 10) + Self.little32(UInt32(bytesCount)) + path
        filesCount += 1
        bytesCount = length
        return Self.little32(0x0403_4b50) + facts + path + content
    }

    /// Returns the last bytes of the archive: the list of its files.
    package func complete() -> [UInt8] {
        let count = Self.little(UInt16(filesCount))
        return directory + Self.little32(0x0605_4b50) + Self.little(0) + Self.little(0)
            + count + count + Self.little32(UInt32(directory.count))
            + Self.little32(UInt32(bytesCount)) + Self.little(0)
    }

    /// Version 2.0 of the format, which has folders.
    private static let version: UInt16 = 20
    private static let namesAreUTF8: UInt16 = 1 << 11
    private static let stored: UInt16 = 0
    /// 1980-01-01: day 1, month 1, year 0.
    private static let firstDate: UInt16 = 1 << 5 | 1
    private static let endBytes = 22

    private static func little(_ value: UInt16) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    private static func little32(_ value: UInt32) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }
}

/// The checksum of files in ZIP archives.
enum Checksum {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in
            value & 1 == 1 ? 0xedb8_8320 ^ value >> 1 : value >> 1
        }
    }

    /// The CRC-32 of ISO 3309 and ITU-T V.42.
    static func crc32(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0) { value, byte in
            table[Int(UInt8(truncatingIfNeeded: value) ^ byte)] ^ value >> 8
        }
    }
}
