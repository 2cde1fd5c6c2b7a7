import Crypto
import Foundation

/// ECDSA whose one random number comes from the key and the message (RFC 6979): the same document
/// signed twice is the same bytes.
///
/// The curve's points are swift-crypto's: the point of a number is the public key of the private
/// key that is that number. Only the arithmetic modulo the order is ours. Hash and order have the
/// same number of bits, so that nothing is cut off.
struct RepeatableSignature<Hash: HashFunction>: Sendable {
    /// Draws of a nonce; that the first one is not good has a chance of 2⁻³² at most.
    private static var drawsMax: Int { 16 }

    private let field: ScalarField
    private let secret: ScalarField.Limbs
    private let secretBytes: [UInt8]
    /// The first coordinate of a multiple of the base point.
    private let coordinate: @Sendable (_ factor: [UInt8]) throws -> [UInt8]

    private init(
        _ field: ScalarField, secret: [UInt8],
        coordinate: @escaping @Sendable (_ factor: [UInt8]) throws -> [UInt8]
    ) {
        self.field = field
        self.secret = field.scalar(secret)
        secretBytes = secret
        self.coordinate = coordinate
    }

    /// The signature, r and s one after the other.
    func callAsFunction(_ message: some DataProtocol) throws(SigningFailure) -> [UInt8] {
        try self(digest: Hash.hash(data: message))
    }

    /// The signature of a message that was hashed already.
    func callAsFunction(digest hash: Hash.Digest) throws(SigningFailure) -> [UInt8] {
        let digest = field.scalar(Array(hash))
        var nonces = Nonces<Hash>(secret: secretBytes, digest: field.bytes(digest))
        for _ in 0..<Self.drawsMax {
            if let signature = try signature(of: digest, nonce: nonces.next()) { return signature }
        }
        throw SigningFailure("No nonce in \(Self.drawsMax) draws was good: the hash is broken.")
    }

    /// Nil where the nonce is not one that gives a signature.
    private func signature(
        of digest: ScalarField.Limbs, nonce: [UInt8]
    ) throws(SigningFailure) -> [UInt8]? {
        // A nonce that is not below the order is drawn anew, never reduced.
        let factor = field.scalar(nonce)
        guard field.bytes(factor) == nonce, factor.contains(where: { $0 != 0 }) else { return nil }
        let point: [UInt8]
        do { point = try coordinate(nonce) } catch {
            throw SigningFailure("A point could not be multiplied: \(error)")
        }
        let r = field.scalar(point)
        let s = field.quotient(field.sum(digest, field.product(r, secret)), by: factor)
        guard r.contains(where: { $0 != 0 }), s.contains(where: { $0 != 0 }) else { return nil }
        return field.bytes(r) + field.bytes(s)
    }
}

extension RepeatableSignature<SHA256> {
    init(_ key: P256.Signing.PrivateKey) {
        self.init(.p256, secret: Array(key.rawRepresentation)) { factor in
            let key = try P256.Signing.PrivateKey(rawRepresentation: factor)
            return Array(key.publicKey.rawRepresentation.prefix(factor.count))
        }
    }
}

extension RepeatableSignature<SHA384> {
    init(_ key: P384.Signing.PrivateKey) {
        self.init(.p384, secret: Array(key.rawRepresentation)) { factor in
            let key = try P384.Signing.PrivateKey(rawRepresentation: factor)
            return Array(key.publicKey.rawRepresentation.prefix(factor.count))
        }
    }
}

/// The numbers that RFC 6979 (§3.2) draws for one key and one message.
private struct Nonces<Hash: HashFunction> {
    private var key: [UInt8]
    private var value: [UInt8]
    private var isFirst = true

    init(secret: [UInt8], digest: [UInt8]) {
        let count = Hash.Digest.byteCount
        key = [UInt8](repeating: 0, count: count)
        value = [UInt8](repeating: 1, count: count)
        stir([0] + secret + digest)
        stir([1] + secret + digest)
    }

    mutating func next() -> [UInt8] {
        if !isFirst { stir([0]) }
        isFirst = false
        value = code(value)
        return value
    }

    private mutating func stir(_ bytes: [UInt8]) {
        key = code(value + bytes)
        value = code(value)
    }

    private func code(_ bytes: [UInt8]) -> [UInt8] {
        Array(HMAC<Hash>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
    }
}
