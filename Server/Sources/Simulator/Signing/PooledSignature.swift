import Crypto

/// ECDSA with nonces that are computed once and reused. A signature takes two multiplications, so
/// it is many times faster than one with a new nonce. The same message gives the same bytes. Two
/// signatures with the same nonce reveal the key, so use this only for keys that may be public.
struct PooledSignature: Sendable {
    /// A nonce with the values that a signature needs.
    private struct Nonce: Sendable {
        /// The x coordinate of the product of the nonce and the base point.
        let r: ScalarField.Limbs
        let inverse: ScalarField.Limbs
    }

    /// One nonce for each value of a digest's first byte.
    private static let pool = Result { try (0...UInt8.max).map(nonce) }

    private let secret: ScalarField.Limbs

    init(_ key: P256.Signing.PrivateKey) {
        secret = ScalarField.p256.scalar(Array(key.rawRepresentation))
    }

    /// The signature: r followed by s.
    func callAsFunction(digest hash: SHA256.Digest) throws(SigningFailure) -> [UInt8] {
        let field = ScalarField.p256
        let digest = Array(hash)
        let nonce: Nonce
        do { nonce = try Self.pool.get()[Int(digest[0])] } catch {
            throw SigningFailure("A point could not be multiplied: \(error)")
        }
        let sum = field.sum(field.scalar(digest), field.product(nonce.r, secret))
        return field.bytes(nonce.r) + field.bytes(field.product(sum, nonce.inverse))
    }

    /// The nonce with a number. The hash is below the order and not zero, except with a probability
    /// of 2⁻³²: then swift-crypto refuses it.
    private static func nonce(_ number: UInt8) throws -> Nonce {
        let field = ScalarField.p256
        let bytes = Array(SHA256.hash(data: [number]))
        let key = try P256.Signing.PrivateKey(rawRepresentation: bytes)
        return Nonce(
            r: field.scalar(key.publicKey.rawRepresentation.prefix(bytes.count)),
            inverse: field.quotient([1, 0, 0, 0], by: field.scalar(bytes)))
    }
}
