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

    /// What the transactions of one chain have in common, as a rule.
    struct Origin: Hashable, Sendable {
        let originalID: String
        let account: Account.Key
        let originallyPurchased: AppStoreDate
        let storefront: Storefront
        var appAccountToken: String?
        let ownership: OwnershipType
    }

    /// Where a month stands within a commitment.
    struct CommitmentMonth: Hashable, Sendable {
        /// From 1.
        let number: Int
        let total: Int
        let expires: AppStoreDate
        /// Thousandths of the currency unit, for the whole commitment.
        let price: Int64
    }

    let id: String
    private(set) var origin: Shared<Origin>
    let sharedProduct: Shared<StoreKitProduct>
    /// One for each subscription period.
    let webOrderLineItemID: String?
    let purchased: AppStoreDate
    var expires: AppStoreDate?
    let quantity: Int64
    let reason: TransactionReason
    /// Thousandths of the currency unit, for all of the quantity.
    let price: Int64
    let sharedOffer: Shared<StoreKitOffer>?
    var commitment: Shared<CommitmentMonth>?
    var advancedCommerce: Shared<AdvancedCommerceTransaction>?
    /// The purchaser's transaction, where a family member has this by sharing.
    var sharedFrom: String?
    var revocation: Revocation?
    var isUpgraded = false

    init(
        id: String, originalID: String, account: Account.Key, product: StoreKitProduct,
        webOrderLineItemID: String?, purchased: AppStoreDate, originallyPurchased: AppStoreDate,
        expires: AppStoreDate?, quantity: Int64, reason: TransactionReason, price: Int64,
        storefront: Storefront, offer: StoreKitOffer?, appAccountToken: String?,
        ownership: OwnershipType = .purchased
    ) {
        let origin = Origin(
            originalID: originalID, account: account, originallyPurchased: originallyPurchased,
            storefront: storefront, appAccountToken: appAccountToken, ownership: ownership)
        self.init(
            id: id, origin: Shared(origin), product: Shared(product),
            webOrderLineItemID: webOrderLineItemID, purchased: purchased, expires: expires,
            quantity: quantity, reason: reason, price: price, offer: offer.map { Shared($0) })
    }

    /// With parts that other transactions have too: a renewal takes up little room.
    init(
        id: String, origin: Shared<Origin>, product: Shared<StoreKitProduct>,
        webOrderLineItemID: String?, purchased: AppStoreDate, expires: AppStoreDate?,
        quantity: Int64 = 1, reason: TransactionReason, price: Int64,
        offer: Shared<StoreKitOffer>?
    ) {
        self.id = id
        self.origin = origin
        sharedProduct = product
        self.webOrderLineItemID = webOrderLineItemID
        self.purchased = purchased
        self.expires = expires
        self.quantity = quantity
        self.reason = reason
        self.price = price
        sharedOffer = offer
    }

    var originalID: String { origin.value.originalID }
    var account: Account.Key { origin.value.account }
    var originallyPurchased: AppStoreDate { origin.value.originallyPurchased }
    var storefront: Storefront { origin.value.storefront }
    var ownership: OwnershipType { origin.value.ownership }
    var product: StoreKitProduct { sharedProduct.value }
    var offer: StoreKitOffer? { sharedOffer?.value }

    var appAccountToken: String? {
        get { origin.value.appAccountToken }
        set {
            var changed = origin.value
            changed.appAccountToken = newValue
            origin = Shared(changed)
        }
    }

    /// Whether the time that was paid for includes a moment, and was neither refunded nor replaced
    /// by then.
    func covers(_ now: AppStoreDate) -> Bool {
        guard revocation == nil, !isUpgraded, purchased <= now else { return false }
        return expires.map { now < $0 } ?? true
    }

    /// Thousandths of the currency unit that were given back.
    var refunded: Int64 {
        guard let revocation else { return 0 }
        return price * revocation.percentage / World.wholePercentage
    }

    /// The same charge as another document tells it: the same order under another id.
    func retold(as id: String) -> Self {
        var copy = Self(
            id: id, origin: origin, product: sharedProduct,
            webOrderLineItemID: webOrderLineItemID, purchased: purchased, expires: expires,
            quantity: quantity, reason: reason, price: price, offer: sharedOffer)
        (copy.commitment, copy.advancedCommerce) = (commitment, advancedCommerce)
        (copy.revocation, copy.isUpgraded) = (revocation, isUpgraded)
        return copy
    }
}
