import AppStoreFormats

/// What a signed document says of itself before anybody has checked the signature. Good for one
/// thing: to choose the app by whose identity it will be verified. Anybody can write any claim.
package struct UnverifiedClaim: Hashable, Sendable {
    /// Nil for renewal information, which names none.
    package var bundleID: String?
    package var environment: StoreEnvironment?
}

extension Verifier {
    /// What a transaction, renewal information, app transaction or notification claims. Nil where
    /// it cannot be read.
    package static func peek(_ jws: [UInt8]) -> UnverifiedClaim? {
        guard jws.count <= jwsBytesMax, let payload = CompactJWS(jws)?.payload,
            let json = try? JSON(parsing: payload), json.members != nil
        else { return nil }
        if let token = json["externalPurchaseToken"].flatMap(ExternalPurchaseToken.init(json:)) {
            return UnverifiedClaim(bundleID: token.bundleId, environment: token.environment)
        }
        let part = json["data"] ?? json["summary"] ?? json["appData"] ?? json
        let environment = part["environment"] ?? part["receiptType"]
        return UnverifiedClaim(
            bundleID: part["bundleId"]?.string,
            environment: environment?.string.map(StoreEnvironment.init(rawValue:)))
    }
}

extension Verifier {
    /// When a signed document claims to have been signed (`signedDate`), before anybody has checked
    /// the signature. Good for looking whether the same document is kept already.
    package static func claimedSigning(of jws: [UInt8]) -> AppStoreDate? {
        guard jws.count <= jwsBytesMax, let payload = CompactJWS(jws)?.payload,
            let json = try? JSON(parsing: payload)
        else { return nil }
        return json["signedDate"]?.integer.map { AppStoreDate(milliseconds: $0) }
    }
}

extension ExternalPurchaseToken {
    /// The prefix of the token's id that stands for the sandbox: it has no environment field.
    private static let sandboxPrefix = "SANDBOX"

    var environment: StoreEnvironment? {
        externalPurchaseId.map { $0.hasPrefix(Self.sandboxPrefix) ? .sandbox : .production }
    }
}
