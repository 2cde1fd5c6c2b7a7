/// A signed text in three parts (RFC 7515 §7.1), parsed strictly. Its signature is not checked yet.
struct CompactJWS: Hashable, Sendable {
    /// The maximum size of a text in bytes, unless its kind has another limit.
    static let bytesMax = 65_536
    /// The only algorithm that Perennial's servers use.
    static let algorithm = "ES256"

    /// The id of the key that has signed the text, according to its header.
    let keyID: String
    /// The header's `typ`. Nil if the header has no `typ`.
    let type: String?
    let payload: [UInt8]
    /// The bytes that were signed: header and payload as they stand in the text.
    let signedBytes: [UInt8]
    /// The signature, 64 bytes.
    let signature: [UInt8]

    /// Parses a text. Returns nil if the text is not a compact JWS, is too large, names an
    /// algorithm other than ES256, or requires an extension (`crit`).
    init?(_ text: String, bytesMax: Int = Self.bytesMax) {
        guard text.utf8.count <= bytesMax else { return nil }
        let bytes = Array(text.utf8)
        let parts = bytes.split(
            separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]),
            let payload = Base64URL.decode(parts[1]), let signature = Base64URL.decode(parts[2]),
            signature.count == Cryptography.pairBytes, let members = SignedJSON(header)?.object,
            members["alg"]?.string == Self.algorithm, members["crit"] == nil,
            let keyID = members["kid"]?.string
        else { return nil }
        self.keyID = keyID
        type = members["typ"]?.string
        self.payload = payload
        self.signature = signature
        signedBytes = Array(bytes[..<parts[1].endIndex])
    }
}
