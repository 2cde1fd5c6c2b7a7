import AppStoreFormats

/// One charge in the simulator's books.
struct StoreTransaction: Hashable, Sendable {
    struct Revocation: Hashable, Sendable {
        var at: AppStoreDate
        var reason: RevocationReason
        var type: RevocationType
        /// Thousandths of a percent.
        var percentage: Int64
    }

    let id: String
    let originalID: String
    let account: Account.Key
    let product: StoreKitProduct
    /// One for each subscription period.
    let webOrderLineItemID: String?
    let purchased: AppStoreDate
    let originallyPurchased: AppStoreDate
    var expires: AppStoreDate?
    let quantity: Int64
    let reason: TransactionReason
    /// Thousandths of the currency unit, for all of the quantity.
    let price: Int64
    let storefront: Storefront
    let offer: StoreKitOffer?
    var appAccountToken: String?
    var revocation: Revocation?
    var isUpgraded = false

    /// Whether the time that was paid for includes a moment, and was neither refunded nor replaced
    /// by then.
    func covers(_ now: AppStoreDate) -> Bool {
        guard revocation == nil, !isUpgraded, purchased <= now else { return false }
        return expires.map { now < $0 } ?? true
    }
}
