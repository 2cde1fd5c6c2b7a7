import AppStoreFormats
import Crypto
import Foundation
import _CryptoExtras

/// How an ID token is signed.
package enum TokenSigner: Hashable, Sendable {
    case rsa
    /// P-256.
    case elliptic
    /// Another RSA key, with the id of the first.
    case otherRSA
    /// Not at all.
    case none
    /// By HMAC, with the text of the public RSA key as its secret.
    case hmacWithPublicKey

    private static let rsaKeys = Result { try (0..<2).map { _ in try newKey() } }
    private static let ellipticKey = P256.Signing.PrivateKey()

    private static func newKey() throws -> _RSA.Signing.PrivateKey {
        try _RSA.Signing.PrivateKey(keySize: .bits2048)
    }

    private var rsaKey: _RSA.Signing.PrivateKey? {
        (try? Self.rsaKeys.get())?[self == .otherRSA ? 1 : 0]
    }

    package var keyID: String { self == .elliptic ? "elliptic" : "rsa" }

    private var algorithm: String {
        switch self {
        case .rsa, .otherRSA: "RS256"
        case .elliptic: "ES256"
        case .none: "none"
        case .hmacWithPublicKey: "HS256"
        }
    }

    /// The public key as a JSON Web Key. Nil if there is none.
    package var publicKey: JSON? {
        switch self {
        case .elliptic:
            let bytes = Array(Self.ellipticKey.publicKey.rawRepresentation)
            return [
                "kty": "EC", "crv": "P-256", "use": "sig", "kid": .string(keyID),
                "x": Self.text(bytes[..<32]), "y": Self.text(bytes[32...]),
            ]
        case .rsa, .otherRSA:
            guard let numbers = try? rsaKey?.publicKey.getKeyPrimitives() else { return nil }
            return [
                "kty": "RSA", "use": "sig", "alg": "RS256", "kid": .string(keyID),
                "n": Self.text(Array(numbers.modulus)),
                "e": Self.text(Array(numbers.publicExponent)),
            ]
        case .none, .hmacWithPublicKey: return nil
        }
    }

    private static func text(_ bytes: some Collection<UInt8>) -> JSON {
        .string(String(decoding: Base64.url.encode(Array(bytes)), as: UTF8.self))
    }

    /// A signed token. A member of the header with the value `null` is left out.
    package func token(_ claims: JSON, header changes: [String: JSON] = [:]) -> String {
        let header = OpenIDProvider.object(
            ["alg": .string(algorithm), "kid": .string(keyID), "typ": "JWT"], changes)
        let dot = UInt8(ascii: ".")
        let signed = Base64.url.encode(header.bytes) + [dot] + Base64.url.encode(claims.bytes)
        let signature = Base64.url.encode(signature(of: signed))
        return String(decoding: signed + [dot] + signature, as: UTF8.self)
    }

    private func signature(of signed: [UInt8]) -> [UInt8] {
        switch self {
        case .none: return []
        case .elliptic:
            return (try? Self.ellipticKey.signature(for: signed)).map {
                Array($0.rawRepresentation)
            }
                ?? []
        case .rsa, .otherRSA:
            let signature = try? rsaKey?.signature(for: signed, padding: .insecurePKCS1v1_5)
            return signature.map { Array($0.rawRepresentation) } ?? []
        case .hmacWithPublicKey:
            let key = SymmetricKey(data: Data((rsaKey?.publicKey.pemRepresentation ?? "").utf8))
            return Array(HMAC<SHA256>.authenticationCode(for: signed, using: key))
        }
    }
}
