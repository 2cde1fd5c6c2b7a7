import AppStoreFormats
import Crypto
import Foundation
import Ledger

/// How an app's request shows that it speaks for the customer it names: by something that only the
/// app's own backend can make.
package enum IdentityProof: Hashable, Sendable {
    /// HMAC-SHA256 of the customer's id under a secret, in hexadecimal.
    case hmac(AppSecret)
    /// A JWT by HS256 (RFC 7519), whose `sub` is the customer's id.
    case token(AppSecret)
    /// The same by ES256: the public key in X9.63 form.
    case signedToken(publicKey: [UInt8])

    /// Bytes of a proof.
    package static let bytesMax = 4096

    package enum Lack: String, Hashable, Sendable {
        case missing
        case wrong
        case expired
    }

    /// A public key of P-256 in X9.63 form.
    ///
    /// - Parameter pem: as OpenSSL writes it.
    /// - Throws: where there is none in it.
    package static func publicKey(pem: String) throws -> [UInt8] {
        Array(try P256.Signing.PublicKey(pemRepresentation: pem).x963Representation)
    }

    /// Nil where the proof is good.
    package func lack(in proof: String?, of id: CustomerID, at now: Instant) -> Lack? {
        guard let proof, !proof.isEmpty else { return .missing }
        guard proof.utf8.count <= Self.bytesMax else { return .wrong }
        switch self {
        case .hmac(let secret):
            guard let code = Hexadecimal.bytes(proof),
                HMAC<SHA256>.isValidAuthenticationCode(
                    code, authenticating: Array(id.rawValue.utf8), using: secret.key)
            else { return .wrong }
            return nil
        case .token(let secret):
            return Self.lack(in: proof, "HS256", of: id, at: now) { signed, signature in
                HMAC<SHA256>.isValidAuthenticationCode(
                    signature, authenticating: signed, using: secret.key)
            }
        case .signedToken(let publicKey):
            return Self.lack(in: proof, "ES256", of: id, at: now) { signed, signature in
                guard let key = try? P256.Signing.PublicKey(x963Representation: publicKey),
                    let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
                else { return false }
                return key.isValidSignature(signature, for: signed)
            }
        }
    }

    /// The algorithm is ours to say and not the token's: one that names another is wrong.
    private static func lack(
        in token: String, _ algorithm: String, of id: CustomerID, at now: Instant,
        isSigned: (_ signed: [UInt8], _ signature: [UInt8]) -> Bool
    ) -> Lack? {
        guard let jws = CompactJWS(token), let signature = jws.signature,
            let header = jws.header.flatMap({ try? JSON(parsing: $0) }),
            header["alg"]?.string == algorithm, isSigned(Array(jws.signedBytes), signature),
            let claims = jws.payload.flatMap({ try? JSON(parsing: $0) }),
            claims["sub"]?.string.map(CustomerID.init(rawValue:)) == id,
            let expiry = claims["exp"]?.numericDate
        else { return .wrong }
        return Double(now.milliseconds) / 1000 < expiry ? nil : .expired
    }
}

extension JSON {
    /// Seconds since 1970-01-01 UTC, which may have a fraction (RFC 7519: NumericDate).
    fileprivate var numericDate: Double? {
        switch self {
        case .integer(let seconds): Double(seconds)
        case .decimal(let literal): Double(literal)
        case .null, .bool, .string, .array, .object: nil
        }
    }
}

extension AppSecret {
    fileprivate var key: SymmetricKey { SymmetricKey(data: Array(text.utf8)) }
}

extension CustomerID {
    static let anonymousPrefix = "anon_"
    /// Characters behind the prefix, so that nobody can guess one.
    static let anonymousCharactersMin = 32

    /// Made by an app for somebody who has not said who they are: whoever knows it speaks for them.
    package var isAnonymous: Bool {
        rawValue.hasPrefix(Self.anonymousPrefix)
            && rawValue.utf8.count >= Self.anonymousPrefix.utf8.count + Self.anonymousCharactersMin
    }
}

extension Engine {
    /// Lets a request of an app through where it shows that it speaks for a customer, or the app
    /// does not want that shown.
    package func requireProof(
        _ proof: String?, of id: CustomerID, app appID: AppID
    ) throws(EngineFailure) {
        guard let wanted = apps[appID]?.proof, !id.isAnonymous else { return }
        if let lack = wanted.lack(in: proof, of: id, at: now()) { throw .noProof(lack) }
    }
}
