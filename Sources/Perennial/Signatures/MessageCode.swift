/// Proves that this installation wrote some bytes: HMAC-SHA256 (RFC 2104) with a key of the device.
struct MessageCode: Sendable {
    /// The size in bytes of the key, and of a code.
    static let bytes = Cryptography.digestBytes

    private let key: [UInt8]

    /// Creates the value that makes codes with a key. Returns nil if the key does not have 32
    /// bytes.
    init?(key: [UInt8]) {
        guard key.count == Self.bytes else { return nil }
        self.key = key
    }

    func code(of bytes: [UInt8]) -> [UInt8] { Cryptography.hmac(of: bytes, key: key) }

    /// Whether a code is the right one for some bytes. Compares in constant time.
    func isCode(_ code: [UInt8], of bytes: [UInt8]) -> Bool {
        Cryptography.isHMAC(code, of: bytes, key: key)
    }
}
