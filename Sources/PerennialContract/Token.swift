/// What `GET /.well-known/jwks.json` answers (RFC 7517): the keys by which tokens are checked.
public struct TokenKeySet: Hashable, Sendable, Codable {
    public var keys: [Key]

    public init(keys: [Key]) { self.keys = keys }

    /// A public key of P-256.
    public struct Key: Hashable, Sendable, Codable {
        /// What the header of a token names.
        public var id: String
        public var keyType = "EC"
        public var curve = "P-256"
        public var algorithm = "ES256"
        public var use = "sig"
        /// Base64url of 32 bytes; ``y`` likewise.
        public var x: String
        public var y: String

        public init(id: String, x: String, y: String) {
            self.id = id
            self.x = x
            self.y = y
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case id = "kid"
            case keyType = "kty"
            case curve = "crv"
            case algorithm = "alg"
            case use
            case x
            case y
        }
    }
}
