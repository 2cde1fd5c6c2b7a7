import AppStoreFormats
import Crypto
import Foundation

/// Verifies a server's signature for a purchase, as the App Store does: promotional offers in both
/// of Apple's forms, and introductory offer eligibility.
struct OfferSignature: Sendable {
    /// The shop's key, parsed once.
    struct Key: Sendable {
        let id: String
        let key: P256.Signing.PublicKey

        /// Parses the key of a shop's file. Returns nil if it is not valid, as in files whose key
        /// was redacted.
        init?(_ stored: StoreKitOffersKey) {
            guard let bytes = Base64.standard.decode(Array(stored.privateKey.utf8)),
                let key = try? P256.Signing.PrivateKey(derRepresentation: bytes)
            else { return nil }
            id = stored.id
            self.key = key.publicKey
        }
    }

    /// How long a signature is valid: a day.
    static let validMilliseconds: Int64 = 86_400_000
    /// How far a server's clock may be ahead of the store's clock: five minutes.
    static let aheadMilliseconds: Int64 = 300_000
    /// Maximum number of characters of a signature.
    static let signatureLengthMax = 16_384

    let key: Key
    let bundleID: String
    let productID: String
    let now: AppStoreDate

    /// The nonce of a promotional offer's signature.
    ///
    /// - Throws: `invalid_offer_signature`, naming the part that is wrong.
    func nonce(
        of proof: OfferProof, offerID: String, appAccountToken: String?
    ) throws(SimulatorProblem) -> String {
        switch proof {
        case .text(let keyID, let nonce, let timestamp, let signature):
            try check(keyID: keyID)
            try check(timestamp: timestamp)
            let words = [
                bundleID, keyID, productID, offerID, (appAccountToken ?? "").lowercased(),
                nonce.lowercased(), String(timestamp),
            ]
            try check(signature, of: words.joined(separator: "\u{2063}"))
            return nonce.lowercased()
        case .compactJWS(let text):
            let claims = try claims(of: text, audience: "promotional-offer")
            guard claims["offerIdentifier"]?.string == offerID else {
                throw Self.wrong("offerIdentifier is not \(offerID)")
            }
            guard let nonce = claims["nonce"]?.string else { throw Self.wrong("it has no nonce") }
            return nonce.lowercased()
        }
    }

    /// Whether the introductory offer is allowed. Nil if the JWS is not valid.
    func introductoryEligibility(_ text: String) -> Bool? {
        let claims = try? claims(of: text, audience: "introductory-offer-eligibility")
        return claims?["allowIntroductoryOffer"]?.bool
    }

    private func claims(of text: String, audience: String) throws(SimulatorProblem) -> JSON {
        guard text.utf8.count <= Self.signatureLengthMax, let jws = CompactJWS(text),
            let header = jws.header.flatMap({ try? JSON(parsing: $0) }), header["alg"] == "ES256",
            let claims = jws.payload.flatMap({ try? JSON(parsing: $0) }),
            let signature = jws.signature
        else { throw Self.wrong("it is not a JWS with ES256") }
        try check(keyID: header["kid"]?.string ?? "")
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.key.isValidSignature(signature, for: jws.signedBytes)
        else { throw Self.wrong("it was not made with the key \(key.id)") }
        for (claim, value) in [
            ("aud", audience), ("bid", bundleID), ("productId", productID),
        ] where claims[claim]?.string != value {
            throw Self.wrong("\(claim) is not \(value)")
        }
        guard let issued = claims["iat"]?.integer else { throw Self.wrong("it has no iat") }
        try check(timestamp: issued.multipliedReportingOverflow(by: 1000).partialValue)
        return claims
    }

    private func check(_ signature: String, of text: String) throws(SimulatorProblem) {
        guard signature.utf8.count <= Self.signatureLengthMax,
            let bytes = Base64.standard.decode(Array(signature.utf8)),
            let signature = try? P256.Signing.ECDSASignature(derRepresentation: bytes)
        else { throw Self.wrong("it is not an ECDSA signature (DER) in Base64") }
        guard key.key.isValidSignature(signature, for: Data(text.utf8)) else {
            throw Self.wrong("it does not match bundle id, key, product, offer, token, nonce, time")
        }
    }

    private func check(keyID: String) throws(SimulatorProblem) {
        guard keyID == key.id else {
            throw Self.wrong("the key \(keyID) is not the shop's, which is \(key.id)")
        }
    }

    private func check(timestamp: Int64) throws(SimulatorProblem) {
        let (age, overflow) = now.milliseconds.subtractingReportingOverflow(timestamp)
        guard !overflow, age <= Self.validMilliseconds, age >= -Self.aheadMilliseconds else {
            throw Self.wrong("its time is not within a day of the store's, \(RFC3339.text(now))")
        }
    }

    private static func wrong(_ why: String) -> SimulatorProblem {
        .invalidOfferSignature(
            why, remedy: "Sign with subscriptionOffersKeyPair of the shop's file.")
    }
}
