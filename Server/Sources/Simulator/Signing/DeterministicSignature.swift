import Crypto
import Foundation

/// Deterministic ECDSA (RFC 6979): the nonce is derived from the key and the message, so signing
/// the same document twice gives the same bytes.
///
/// Curve points are computed by swift-crypto: the point of a number is the public key of the
/// private key with that number. Only the arithmetic modulo the order is implemented here. The hash
/// and the order have the same number of bits, so nothing is truncated.
struct DeterministicSignature<Hash: HashFunction>: Sendable {
    /// Maximum number of nonce draws. The probability that the first one is unusable is at most
    /// 2⁻³².
    private static var drawsMax: Int { 16 }

    private let field: ScalarField
    private let secret: ScalarField.Limbs
    private let secretBytes: [UInt8]
    /// The x coordinate of a multiple of the base point.
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

    /// The signature: r followed by s.
    func callAsFunction(_ message: some DataProtocol) throws(SigningFailure) -> [UInt8] {
        try self(digest: Hash.hash(data: message))
    }

    /// The signature of a message that was already hashed.
    func callAsFunction(digest hash: Hash.Digest) throws(SigningFailure) -> [UInt8] {
        let digest = field.scalar(Array(hash))
        var nonces = Nonces<Hash>(secret: secretBytes, digest: field.bytes(digest))
        for _ in 0..<Self.drawsMax {
            if let signature = try signature(of: digest, nonce: nonces.next()) { return signature }
        }
        throw SigningFailure("No nonce in \(Self.drawsMax) draws was usable: the hash is broken.")
    }

    /// The signature with a nonce. Returns nil if the nonce does not give a valid signature.
    private func signature(
        of digest: ScalarField.Limbs, nonce: [UInt8]
    ) throws(SigningFailure) -> [UInt8]? {
        // A nonce that is not below the order is drawn again, never reduced.
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

extension DeterministicSignature<SHA256> {
    init(_ key: P256.Signing.PrivateKey) {
        self.init(.p256, secret: Array(key.rawRepresentation)) { factor in
            let key = try P256.Signing.PrivateKey(rawRepresentation: factor)
            return Array(key.publicKey.rawRepresentation.prefix(factor.count))
        }
    }
}

extension DeterministicSignature<SHA384> {
    init(_ key: P384.Signing.PrivateKey) {
        self.init(.p384, secret: Array(key.rawRepresentation)) { factor in
            let key = try P384.Signing.PrivateKey(rawRepresentation: factor)
            return Array(key.publicKey.rawRepresentation.prefix(factor.count))
        }
    }
}

/// The nonces that RFC 6979 (§3.2) draws for one key and one message.
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
