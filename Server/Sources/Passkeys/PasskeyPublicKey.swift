import Crypto
import _CryptoExtras

/// The public key of a passkey, in the form of COSE (RFC 9052, 7; RFC 9053, 2 and 7).
package struct PasskeyPublicKey: Hashable, Sendable {
    /// The algorithms that the server requests, best first, by their numbers of COSE: ES256, EdDSA
    /// with Ed25519, and RS256.
    package static let algorithms: [Int64] = [-7, -8, -257]
    /// The maximum size of a key, in bytes. The longest is a key of RSA with 4,096 bits.
    package static let bytesMax = 1_024

    private enum Numbers: Hashable, Sendable {
        /// The two coordinates, of 32 bytes each.
        case es256(x: [UInt8], y: [UInt8])
        case ed25519([UInt8])
        case rs256(modulus: [UInt8], exponent: [UInt8])
    }

    // The labels of a key and of its parameters.
    private static let (kind, algorithm) = (CBORValue.integer(1), CBORValue.integer(3))
    private static let (first, second, third) = (
        CBORValue.integer(-1), CBORValue.integer(-2), CBORValue.integer(-3)
    )
    private static let coordinateBytes = 32
    /// The sizes of RSA keys that are accepted, in bytes of the modulus: 2,048 to 4,096 bits.
    private static let modulusBytes = 256...512
    private static let exponentBytesMax = 4

    /// The bytes of the key as the authenticator sent them.
    package let encoded: [UInt8]
    private let numbers: Numbers

    /// - Throws: ``PasskeyFailure/unsupportedKey`` if the key is of another algorithm, or is not
    ///   valid for its algorithm.
    package init(parsing encoded: [UInt8]) throws(PasskeyFailure) {
        guard encoded.count <= Self.bytesMax else { throw .unreadable("its key is too long") }
        var reader = CBORReader(encoded)
        let value = try reader.value()
        guard reader.isAtEnd else { throw .unreadable("its key is followed by other bytes") }
        guard let numbers = Self.numbers(of: value) else { throw .unsupportedKey }
        self.encoded = encoded
        self.numbers = numbers
    }

    /// The numbers of a key. Nil if the key is not valid.
    private static func numbers(of key: CBORValue) -> Numbers? {
        switch (key[kind]?.integer, key[algorithm]?.integer) {
        case (2, -7): ellipticNumbers(of: key)
        case (1, -8): edwardsNumbers(of: key)
        case (3, -257): rsaNumbers(of: key)
        default: nil
        }
    }

    private static func ellipticNumbers(of key: CBORValue) -> Numbers? {
        guard key[first]?.integer == 1, let x = key[second]?.bytes, let y = key[third]?.bytes,
            x.count == coordinateBytes, y.count == coordinateBytes,
            (try? P256.Signing.PublicKey(rawRepresentation: x + y)) != nil
        else { return nil }
        return .es256(x: x, y: y)
    }

    private static func edwardsNumbers(of key: CBORValue) -> Numbers? {
        guard key[first]?.integer == 6, let x = key[second]?.bytes, x.count == coordinateBytes,
            (try? Curve25519.Signing.PublicKey(rawRepresentation: x)) != nil
        else { return nil }
        return .ed25519(x)
    }

    private static func rsaNumbers(of key: CBORValue) -> Numbers? {
        guard let modulus = key[first]?.bytes, let exponent = key[second]?.bytes,
            modulusBytes.contains(modulus.count), (1...exponentBytesMax).contains(exponent.count),
            (try? _RSA.Signing.PublicKey(n: modulus, e: exponent)) != nil
        else { return nil }
        return .rs256(modulus: modulus, exponent: exponent)
    }

    /// Whether a signature of the key is valid (Web Authentication Level 3, 6.5.5).
    func isValid(_ signature: [UInt8], for signed: [UInt8]) -> Bool {
        switch numbers {
        case .es256(let x, let y):
            guard let key = try? P256.Signing.PublicKey(rawRepresentation: x + y),
                let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: signed)
        case .ed25519(let bytes):
            guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes) else {
                return false
            }
            return key.isValidSignature(signature, for: signed)
        case .rs256(let modulus, let exponent):
            guard let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent) else {
                return false
            }
            return key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature), for: signed,
                padding: .insecurePKCS1v1_5)
        }
    }
}
