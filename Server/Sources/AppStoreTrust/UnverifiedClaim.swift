import AppStoreFormats

/// What a signed document claims about itself before its signature is verified. Anybody can write
/// any claim. So use it only to choose the app whose identity the document is then verified
/// against.
package struct UnverifiedClaim: Hashable, Sendable {
    /// The bundle id. Nil for renewal info, which names no bundle.
    package var bundleID: String?
    package var environment: StoreEnvironment?
}

extension Verifier {
    /// What a transaction, renewal info, app transaction, or notification claims. Returns nil if it
    /// cannot be read.
    package static func peek(_ jws: [UInt8]) -> UnverifiedClaim? {
        guard jws.count <= jwsBytesMax, let payload = CompactJWS(jws)?.payload,
            let json = try? JSON(parsing: payload), json.members != nil
        else { return nil }
        if let token = json["externalPurchaseToken"].flatMap(ExternalPurchaseToken.init(json:)) {
            return UnverifiedClaim(bundleID: token.bundleId, environment: token.environment)
        }
        if json["bundleId"] == nil, let claim = NotificationPart.claim(in: json) { return claim }
        let environment = json["environment"] ?? json["receiptType"]
        return UnverifiedClaim(
            bundleID: json["bundleId"]?.string,
            environment: environment?.string.map(StoreEnvironment.init(rawValue:)))
    }
}

extension Verifier {
    /// When a signed document claims to have been signed (`signedDate`), before its signature is
    /// verified. Use it only to look up whether the same document is already stored.
    package static func claimedSigningDate(of jws: [UInt8]) -> AppStoreDate? {
        guard jws.count <= jwsBytesMax, let payload = CompactJWS(jws)?.payload,
            let json = try? JSON(parsing: payload)
        else { return nil }
        return json["signedDate"]?.integer.map { AppStoreDate(milliseconds: $0) }
    }
}

extension ExternalPurchaseToken {
    /// The prefix of the token's id for the sandbox: the token has no environment field.
    private static let sandboxPrefix = "SANDBOX"

    var environment: StoreEnvironment? {
        externalPurchaseId.map { $0.hasPrefix(Self.sandboxPrefix) ? .sandbox : .production }
    }
}
