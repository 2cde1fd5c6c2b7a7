import Crypto

/// ECDSA with random numbers that were drawn, and multiplied, once for all: a signature is two
/// products, many times as fast as one with a number of its own, and the same bytes for the same
/// message. Two signatures with one number tell the key: it is for keys that anybody may know.
struct PooledSignature: Sendable {
    /// A number, as a signature needs it.
    private struct Nonce: Sendable {
        /// The first coordinate of its multiple of the base point.
        let r: ScalarField.Limbs
        let inverse: ScalarField.Limbs
    }

    /// One for each value of a digest's first byte.
    private static let pool = Result { try (0...UInt8.max).map(nonce) }

    private let secret: ScalarField.Limbs

    init(_ key: P256.Signing.PrivateKey) {
        secret = ScalarField.p256.scalar(Array(key.rawRepresentation))
    }

    /// The signature, r and s one after the other.
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

    /// Below the order and not zero, but for a chance of 2⁻³²: swift-crypto refuses it then.
    private static func nonce(_ number: UInt8) throws -> Nonce {
        let field = ScalarField.p256
        let bytes = Array(SHA256.hash(data: [number]))
        let key = try P256.Signing.PrivateKey(rawRepresentation: bytes)
        return Nonce(
            r: field.scalar(key.publicKey.rawRepresentation.prefix(bytes.count)),
            inverse: field.quotient([1, 0, 0, 0], by: field.scalar(bytes)))
    }
}
