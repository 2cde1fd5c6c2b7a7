/// The App Store on this device, as the engine sees it: signed documents, and whether they are
/// verified.
///
/// The protocol does not use types of StoreKit, because only StoreKit can create their values. So a
/// test can replace the store.
package protocol DeviceStore: Sendable {
    /// The products with these ids. Products that the store does not know are left out.
    func products(_ ids: [String]) async throws(StoreError) -> [StoreProduct]
    func purchase(
        _ product: String, _ options: StorePurchaseOptions, anchor: PurchaseAnchor?
    ) async throws(StoreError) -> StorePurchaseResult

    /// The documents of one of the store's lists. Nil if the task was cancelled, so that the store
    /// gave no answer.
    func documents(_ list: StoreList) async -> [StoreDocument]?
    /// The renewal states of subscription groups. Nil if the store did not answer.
    func renewals(of groups: Set<String>) async -> [StoreRenewal]?
    func isEligibleForIntroductoryOffer(group: String) async -> Bool

    /// Tells the store that the app has finished these transactions.
    func finish(_ documents: [StoreDocument]) async
    /// Asks the customer for the account's password, and fetches all transactions again.
    func sync() async throws(StoreError)
    /// The app transaction. Nil if the store has no app transaction. The call never asks for the
    /// account's password.
    func appTransaction() async -> StoreDocument?
    /// Events of the store from now on, beginning with the unfinished transactions. A process has
    /// only one such stream.
    func updates() -> AsyncStream<StoreUpdate>
}

/// A list of the store.
package enum StoreList: Sendable {
    case entitlements, unfinished, all
}

/// A document as the store returned it.
package struct StoreDocument: Hashable, Sendable {
    package var jws: String
    /// Whether the store has verified the document. An unverified document gives no access and is
    /// never finished.
    package var isVerified: Bool

    package init(jws: String, isVerified: Bool) {
        self.jws = jws
        self.isVerified = isVerified
    }
}

/// The renewal state of one subscription, with its documents.
package struct StoreRenewal: Hashable, Sendable {
    package var state: State
    package var transaction: StoreDocument
    package var renewalInfo: StoreDocument

    package init(state: State, transaction: StoreDocument, renewalInfo: StoreDocument) {
        self.state = state
        self.transaction = transaction
        self.renewalInfo = renewalInfo
    }

    package enum State: Sendable {
        case subscribed, expired, retry, grace, revoked, unknown
    }
}

package enum StoreUpdate: Sendable {
    case transaction(StoreDocument)
    case renewal(StoreRenewal)
    /// The customer chose a promoted product or a win-back offer outside the app.
    case request(product: String, offerID: String?)
    /// The customer signed in to another store account or changed the country.
    case storefront
}

package enum StorePurchaseResult: Sendable {
    case bought(StoreDocument)
    case pending
    case cancelled
    /// The store returned a result that this version does not know.
    case unknown
}

package struct StorePurchaseOptions: Hashable, Sendable {
    /// The account token, in lower case. Nil if the purchase has no account token.
    package var accountToken: String?
    package var quantity = 1
    /// The total number of seats after the purchase. Nil if the purchase is for one person.
    package var seats: Int?
    package var offer: Offer?
    package var plan: Perennial.Plan.Kind?
    /// Purchase options that the app adds.
    package var custom = CustomOptions()

    package init() {}

    package enum Offer: Hashable, Sendable {
        case promotional(id: String, compactJWS: String)
        case winBack(id: String)
        case introductory(compactJWS: String)
    }
}

package enum StoreError: Error, Hashable, Sendable {
    case cancelled
    case unreachable
    case productUnavailable
    case notAllowed
    case offerNotAccepted(String)
    /// The product is not sold in seats, or this build cannot buy seats.
    case seatsNotSold
    /// Fewer seats were requested than the subscription has.
    case seatReduction
    case notInStorefront
    /// The name of the error's type. The error's text is not stored, because it can contain account
    /// names.
    case failed(String)
}
