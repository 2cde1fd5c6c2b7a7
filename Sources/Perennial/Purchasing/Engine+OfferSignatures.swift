internal import AccessRules
internal import Foundation
internal import PerennialContract

// MARK: - Signatures for the App Store

extension Engine {
    /// Requests the signature of a promotional offer.
    func sign(
        _ offer: Perennial.Offer?, of product: Perennial.ProductID
    ) async throws(Perennial.Failure) -> StorePurchaseOptions.Offer {
        guard let offer = offer?.id else { throw Self.unsignedOffer }
        let signature = try await fetchSignature(
            "promotional", offerID: offer, of: product, naming: newestTransaction)
        guard let jws = signature?.compactJWS else { throw Self.unsignedOffer }
        return .promotional(id: offer, compactJWS: jws)
    }

    /// The failure if the server did not sign the offer: without the signature, the App Store would
    /// charge the full price.
    private static var unsignedOffer: Perennial.Failure {
        Perennial.Failure(
            .offerNotAccepted, remedy: "The server did not sign this offer. Show its price again.")
    }

    /// Requests the signature that allows an introductory offer, if the app has chosen such an
    /// offer. Nil if there is no transaction to name in the request: the App Store then applies the
    /// offer without a signature.
    ///
    /// - Throws: the server's refusal, because without the signature the full price might be
    ///   charged.
    func signIntroductory(
        of product: Perennial.ProductID
    ) async throws(Perennial.Failure) -> StorePurchaseOptions.Offer? {
        guard let transaction = newestTransaction else { return nil }
        let signature = try await fetchSignature(
            "introductory", offerID: nil, of: product, naming: transaction)
        guard let jws = signature?.compactJWS else { return nil }
        guard signature?.allowsIntroductory == true else {
            throw Perennial.Failure(
                .offerNotAccepted,
                remedy: "The server says that this customer had an introductory offer before.")
        }
        return .introductory(compactJWS: jws)
    }

    /// The id of the newest transaction that the customer has posted. Nil if the customer has
    /// posted no transaction.
    private var newestTransaction: String? {
        state.device.storeEvidence.transactions.values.filter(\.isAcknowledged)
            .max { ($0.signedAt, $0.id) < ($1.signedAt, $1.id) }?.id
    }

    private func fetchSignature(
        _ kind: String, offerID: String?, of product: Perennial.ProductID,
        naming transaction: String?
    ) async throws(Perennial.Failure) -> OfferSignature? {
        guard let id = state.device.customerID else { return nil }
        let body = OfferSignatureRequest(
            customerID: id, productID: product.rawValue, kind: kind, offerID: offerID,
            transactionID: transaction)
        do {
            return try await send(
                .post(
                    Paths.offerSignatures, body, query: environmentQuery, for: id,
                    within: configuration.patience)
            ).decode(OfferSignature.self)
        } catch {
            throw error.failure
        }
    }
}
