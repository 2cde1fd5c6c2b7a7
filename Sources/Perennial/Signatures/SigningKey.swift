internal import PerennialContract

/// A public key that signs tokens and offerings.
struct SigningKey: Hashable, Sendable {
    /// The maximum number of characters of a key id.
    static let idCharactersMax = 128
    private static let coordinateBytes = 32

    let id: String
    /// The coordinates x and y, 32 bytes each.
    let point: [UInt8]

    /// - Parameters: the members `kid`, `x` and `y` of a key set (RFC 7517).
    /// - Returns: nil if a coordinate is not 32 bytes in Base64url.
    init?(id: String, x: String, y: String) {
        guard !id.isEmpty, id.utf8.count <= Self.idCharactersMax,
            let x = Base64URL.decode(x.utf8), let y = Base64URL.decode(y.utf8),
            x.count == Self.coordinateBytes, y.count == Self.coordinateBytes
        else { return nil }
        self.id = id
        point = x + y
    }

    init?(id: String, point: [UInt8]) {
        guard !id.isEmpty, id.utf8.count <= Self.idCharactersMax,
            point.count == 2 * Self.coordinateBytes
        else { return nil }
        self.id = id
        self.point = point
    }

    /// Creates the key of a key set. Returns nil unless the key is a P-256 key.
    init?(_ key: TokenKeySet.Key) {
        guard key.keyType == "EC", key.curve == "P-256", key.algorithm == CompactJWS.algorithm
        else { return nil }
        self.init(id: key.id, x: key.x, y: key.y)
    }

    /// Reads the member `key` of an introduction. Returns nil unless the key is a P-256 key.
    init?(introduced key: SignedJSON) {
        guard key["kty"]?.string == "EC", key["crv"]?.string == "P-256",
            let id = key["kid"]?.string, let x = key["x"]?.string, let y = key["y"]?.string
        else { return nil }
        self.init(id: id, x: x, y: y)
    }

    func isSignature(of jws: CompactJWS) -> Bool {
        jws.keyID == id && Cryptography.isES256(jws.signature, of: jws.signedBytes, by: point)
    }
}
