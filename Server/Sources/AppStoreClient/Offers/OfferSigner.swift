import AppStoreFormats
import Crypto

/// Signs what a device presents to the App Store to get an offer, in each of Apple's formats.
package struct OfferSigner: Sendable, CustomStringConvertible, CustomReflectable {
    private let credentials: AppStoreCredentials

    package init(_ credentials: AppStoreCredentials) { self.credentials = credentials }

    package var keyID: String { credentials.keyID }

    package var description: String { "offers of \(credentials)" }

    package var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }

    /// Separates the values of the text that is signed in Apple's first format.
    static let separator = "\u{2063}"

    /// The signature of a promotional offer in the first format: "Generating a signature for
    /// promotional offers". Valid for 24 hours, and for one purchase.
    ///
    /// - Parameters:
    ///   - token: the account token that the app uses for the purchase; empty for none.
    ///   - nonce: a UUID that was never used before.
    /// - Returns: the signature in DER, as Base64.
    package func promotionalSignature(
        product: String, offer: String, token: String, nonce: String, at now: AppStoreDate
    ) throws(AppStoreFailure) -> String {
        let text = signedText(product: product, offer: offer, token: token, nonce: nonce, at: now)
        let signature = try credentials.signature(for: text).derRepresentation
        return String(decoding: Base64.standard.encode([UInt8](signature)), as: UTF8.self)
    }

    /// The text that is signed in the first format.
    func signedText(
        product: String, offer: String, token: String, nonce: String, at now: AppStoreDate
    ) -> [UInt8] {
        let words = [
            credentials.bundleID ?? "", credentials.keyID, product, offer, token.lowercased(),
            nonce.lowercased(), String(now.milliseconds),
        ]
        return Array(words.joined(separator: Self.separator).utf8)
    }

    /// The token of a promotional offer in the second format: "Generating JWS to sign App Store
    /// requests".
    ///
    /// - Parameter transaction: the id of any transaction of the customer, so that the App Store
    ///   knows the account; nil if there is none.
    package func promotionalToken(
        product: String, offer: String, transaction: String?, nonce: String, at now: AppStoreDate
    ) throws(AppStoreFailure) -> String {
        var claims: [JSON.Member] = [
            .init("productId", .string(product)), .init("offerIdentifier", .string(offer)),
        ]
        if let transaction { claims.append(.init("transactionId", .string(transaction))) }
        return try token("promotional-offer", claims, nonce: nonce, at: now)
    }

    /// The token that decides whether a customer is eligible for the introductory offer.
    ///
    /// - Parameter transaction: the id of any transaction of the customer, or the id of the app
    ///   transaction.
    package func introductoryToken(
        product: String, isAllowed: Bool, transaction: String, nonce: String, at now: AppStoreDate
    ) throws(AppStoreFailure) -> String {
        try token(
            "introductory-offer-eligibility",
            [
                .init("productId", .string(product)),
                .init("allowIntroductoryOffer", .bool(isAllowed)),
                .init("transactionId", .string(transaction)),
            ], nonce: nonce, at: now)
    }

    private func token(
        _ audience: String, _ claims: [JSON.Member], nonce: String, at now: AppStoreDate
    ) throws(AppStoreFailure) -> String {
        let claims = JSON.object(
            [
                .init("iss", .string(credentials.issuerID)),
                .init("bid", .string(credentials.bundleID ?? "")), .init("aud", .string(audience)),
                .init("iat", .integer(now.milliseconds / 1000)), .init("nonce", .string(nonce)),
            ] + claims)
        return try credentials.jws(claims)
    }
}
