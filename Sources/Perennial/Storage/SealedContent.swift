/// Bytes with a checksum against accidental damage, and a seal against manipulation.
struct SealedContent: Hashable, Sendable {
    private static let magic = Array("PRNL".utf8)
    private static let checksumBytes = 8

    let bytes: [UInt8]
    /// The version of the file's layout.
    let version: UInt8
    /// The seal. Empty if there was no key to make a seal.
    private let seal: [UInt8]

    init(_ bytes: [UInt8], version: UInt8 = StateFile.version, code: MessageCode?) {
        self.bytes = bytes
        self.version = version
        seal = code?.code(of: bytes) ?? []
    }

    /// Reads a file. Returns nil if the file is damaged or has another version.
    init?(file: [UInt8], version: UInt8) {
        let head = Self.magic + [version]
        guard file.count >= head.count + Self.checksumBytes, file.starts(with: head) else {
            return nil
        }
        let checksum = file[head.count..<head.count + Self.checksumBytes]
        let rest = file[(head.count + Self.checksumBytes)...]
        guard checksum.elementsEqual(Self.checksum(of: head + rest)) else { return nil }
        var reader = ByteReader(rest)
        guard let bytes = try? reader.bytes(), let seal = try? reader.bytes(), reader.isAtEnd
        else { return nil }
        self.bytes = bytes
        self.version = version
        self.seal = seal
    }

    var file: [UInt8] {
        var writer = ByteWriter()
        writer.write(bytes)
        writer.write(seal)
        let head = Self.magic + [version]
        return head + Self.checksum(of: head + writer.bytes) + writer.bytes
    }

    /// Whether this device wrote the bytes.
    func isSealed(by code: MessageCode) -> Bool { code.isCode(seal, of: bytes) }

    private static func checksum(of bytes: [UInt8]) -> ArraySlice<UInt8> {
        Cryptography.sha256(bytes).prefix(checksumBytes)
    }
}
