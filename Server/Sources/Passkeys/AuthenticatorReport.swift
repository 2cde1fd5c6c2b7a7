import Crypto

/// What an authenticator says and signs: for which host, whether somebody was there, and how often
/// it has signed (Web Authentication Level 3, 6.1).
struct AuthenticatorReport: Hashable, Sendable {
    /// A new passkey, which only the answer to a registration contains.
    struct Credential: Hashable, Sendable {
        var id: [UInt8]
        var key: PasskeyPublicKey
    }

    /// The maximum size of a report, in bytes.
    static let bytesMax = 4_096
    private static let hashBytes = 32
    private static let modelBytes = 16

    /// The bits of the byte after the hash.
    private enum Flag {
        static let present: UInt8 = 0x01
        static let verified: UInt8 = 0x04
        static let credential: UInt8 = 0x40
        static let extensions: UInt8 = 0x80
    }

    /// The SHA-256 of the host.
    let hostHash: [UInt8]
    let isPresent: Bool
    let isVerified: Bool
    /// How often the authenticator has signed. 0 if it does not count.
    let counter: UInt32
    let credential: Credential?

    init(parsing bytes: [UInt8]) throws(PasskeyFailure) {
        guard bytes.count <= Self.bytesMax, bytes.count >= Self.hashBytes + 5 else {
            throw .unreadable("the authenticator's part is too short or too long")
        }
        hostHash = Array(bytes.prefix(Self.hashBytes))
        let flags = bytes[Self.hashBytes]
        isPresent = flags & Flag.present != 0
        isVerified = flags & Flag.verified != 0
        counter = bytes[Self.hashBytes + 1..<Self.hashBytes + 5].reduce(0) { $0 << 8 | UInt32($1) }
        var offset = Self.hashBytes + 5
        credential =
            flags & Flag.credential == 0
            ? nil : try Self.credential(in: bytes, from: &offset)
        if flags & Flag.extensions != 0 {
            var reader = CBORReader(bytes, from: offset)
            guard try reader.value().isMap else {
                throw .unreadable("the authenticator's extensions are no map")
            }
            offset = reader.offset
        }
        guard offset == bytes.count else {
            throw .unreadable("the authenticator's part is followed by other bytes")
        }
    }

    /// Reads the model, the id with its length, and the key.
    private static func credential(
        in bytes: [UInt8], from offset: inout Int
    ) throws(PasskeyFailure) -> Credential {
        let start = offset + modelBytes + 2
        guard start <= bytes.count else { throw .unreadable("its passkey ends too early") }
        let count = Int(bytes[start - 2]) << 8 | Int(bytes[start - 1])
        guard (1...RelyingParty.idBytesMax).contains(count), start + count <= bytes.count else {
            throw .unreadable("the id of its passkey is too short or too long")
        }
        var reader = CBORReader(bytes, from: start + count)
        _ = try reader.value()
        offset = reader.offset
        return Credential(
            id: Array(bytes[start..<start + count]),
            key: try PasskeyPublicKey(parsing: Array(bytes[start + count..<offset])))
    }

    /// Requires that the report is about a host, and that a person was there whom the authenticator
    /// has verified.
    func require(host: String) throws(PasskeyFailure) {
        guard hostHash == Array(SHA256.hash(data: Array(host.utf8))) else { throw .otherHost }
        guard isPresent else { throw .notPresent }
        guard isVerified else { throw .notVerified }
    }
}
