internal import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Crypto
#endif

/// The three algorithms that the SDK uses. Only this file imports a cryptographic library.
enum Cryptography {
    /// The size in bytes of a SHA-256 digest, and of an HMAC-SHA256 code.
    static let digestBytes = 32
    /// The size in bytes of a P-256 point without a prefix, and of an ES256 signature. Each
    /// consists of two numbers.
    static let pairBytes = 64

    static func sha256(_ bytes: some DataProtocol) -> [UInt8] {
        Array(SHA256.hash(data: bytes))
    }

    /// Whether bytes have a valid ES256 signature of a key (RFC 7518 §3.4).
    ///
    /// - Parameter point: the public key: x and y, 32 bytes each.
    static func isES256(_ signature: [UInt8], of bytes: [UInt8], by point: [UInt8]) -> Bool {
        guard signature.count == pairBytes, point.count == pairBytes,
            let key = try? P256.Signing.PublicKey(rawRepresentation: point),
            let pair = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
        else { return false }
        return key.isValidSignature(pair, for: bytes)
    }

    static func hmac(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
    }

    /// Whether bytes have a valid HMAC-SHA256 code of a key. Compares in constant time.
    static func isHMAC(_ code: [UInt8], of bytes: [UInt8], key: [UInt8]) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(
            code, authenticating: bytes, using: SymmetricKey(data: key))
    }
}
