/// The response of `GET /.well-known/jwks.json` (RFC 7517): the keys for verifying tokens.
public struct TokenKeySet: Hashable, Sendable, Codable {
    public var keys: [Key]
    /// Signed introductions that lead from an old key to the present one, oldest first, each a
    /// compact JWS. An introduction is signed by one key and contains the next key as `key`. Nil in
    /// responses of servers of an earlier version.
    public var chain: [String]?

    public init(keys: [Key], chain: [String]? = nil) {
        self.keys = keys
        self.chain = chain
    }

    /// A P-256 public key.
    public struct Key: Hashable, Sendable, Codable {
        /// The key id, as named in a token's header.
        public var id: String
        public var keyType = "EC"
        public var curve = "P-256"
        public var algorithm = "ES256"
        public var use = "sig"
        /// The point's coordinates, each 32 bytes in Base64url.
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
