import AppStoreFormats
import Crypto
import Ledger
import Synchronization

/// The signature of an app's offerings.
package struct OfferingSignature: Hashable, Sendable {
    /// A compact JWS whose payload contains the offerings. Nil if the app issues no tokens.
    package var jws: String?
    /// The version of the offerings. The version changes whenever the offerings or the signing key
    /// change, and only then.
    package var version: String
}

/// The signatures made so far: one for each version of the offerings.
final class OfferingSignatures: Sendable {
    /// The maximum number of signatures in the cache. A full cache is cleared.
    private static let signaturesMax = 100

    private let texts = Mutex<[String: String]>([:])

    func jws(of version: String, sign: () throws -> String) rethrows -> String {
        if let found = texts.withLock({ $0[version] }) { return found }
        let signed = try sign()
        texts.withLock { texts in
            if texts.count >= Self.signaturesMax { texts.removeAll() }
            texts[version] = signed
        }
        return signed
    }
}

extension OfferService {
    /// The header's `typ` of signed offerings, so that no verifier mistakes them for a customer's
    /// token.
    package static let offeringsType = "perennial-offerings+jwt"
    /// The member of the offerings that will hold the signature.
    private static let signatureMember = "jws"
    /// The number of characters of a version.
    private static let versionCharacters = 32
}

extension Context {
    /// The settings of an app, as configured.
    package func settings(of appID: AppID) throws(EngineFailure) -> AppSettings {
        try app(appID).0
    }
}

extension OfferService {
    /// Signs an app's offerings with the key of its tokens. Adds `iss` and `aud`, which are the
    /// same as in customers' tokens, and `iat`. Leaves out `sub` and `exp`, which a customer's
    /// token must have.
    ///
    /// - Parameter content: the offerings as a JSON object. The member `jws` is left out.
    package func sign(
        offerings content: [UInt8], of appID: AppID, in environment: Environment
    ) async throws(EngineFailure) -> OfferingSignature {
        let app = try context.settings(of: appID)
        guard let rules = app.tokens else {
            return OfferingSignature(jws: nil, version: Self.version(of: content, keyID: ""))
        }
        let key = try await tokens.signingKey(of: appID)
        let version = Self.version(of: content, keyID: key.id)
        let issued = context.now().milliseconds / 1000
        do {
            let jws = try offeringSignatures.jws(of: version) {
                let members = try JSON(parsing: content).members ?? []
                let signed = members.filter { $0.key != Self.signatureMember }
                let claims =
                    rules.audience(of: appID, in: environment)
                    + [.init("iat", .integer(issued))] + signed
                return try CompactJWS.text(
                    .object(claims), by: key.id, type: Self.offeringsType
                ) { bytes in
                    [UInt8](try key.key.signature(for: bytes).rawRepresentation)
                }
            }
            return OfferingSignature(jws: jws, version: version)
        } catch { throw .storage("Signing the offerings failed: \(error)") }
    }

    private static func version(of content: [UInt8], keyID: String) -> String {
        let digest = SHA256.hash(data: content + Array(keyID.utf8))
        return String(Hexadecimal.text(Array(digest)).prefix(versionCharacters))
    }
}
