import AppStoreFormats

/// One charge, as the simulator records it.
struct StoreTransaction: Hashable, Sendable {
    struct Revocation: Hashable, Sendable {
        var at: AppStoreDate
        var reason: RevocationReason
        var type: RevocationType
        /// The refunded share of the price, in thousandths of a percent.
        var percentage: Int64
        /// The amount that was refunded earlier for single seats. It is not refunded again.
        var earlier: Int64 = 0
    }

    /// The values that the transactions of one chain normally share.
    struct Origin: Hashable, Sendable {
        let originalID: String
        let account: Account.Key
        let originallyPurchased: AppStoreDate
        let storefront: Storefront
        var appAccountToken: String?
        let ownership: OwnershipType
    }

    /// The position of a month within a commitment.
    struct CommitmentMonth: Hashable, Sendable {
        /// The number of the month, from 1.
        let number: Int
        let total: Int
        let expires: AppStoreDate
        /// The price of the whole commitment, in thousandths of the currency unit.
        let price: Int64
    }

    let id: String
    private(set) var origin: Box<Origin>
    let boxedProduct: Box<StoreKitProduct>
    /// Identifies the order. Unique for each subscription period.
    let webOrderLineItemID: String?
    let purchased: AppStoreDate
    var expires: AppStoreDate?
    let quantity: Int64
    let reason: TransactionReason
    /// The price of the whole quantity, in thousandths of the currency unit.
    let price: Int64
    let boxedOffer: Box<StoreKitOffer>?
    var commitment: Box<CommitmentMonth>?
    var advancedCommerce: Box<AdvancedCommerceTransaction>?
    /// The purchaser's transaction, if a family member has this transaction by sharing.
    var sharedFrom: String?
    var revocation: Revocation?
    var isUpgraded = false
    /// The seats that were bought. Nil for an ordinary purchase. See ``seats``.
    var boxedSeats: Box<SeatsBought>?

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
            id: id, origin: Box(origin), product: Box(product),
            webOrderLineItemID: webOrderLineItemID, purchased: purchased, expires: expires,
            quantity: quantity, reason: reason, price: price, offer: offer.map { Box($0) })
    }

    /// Makes a transaction that shares values with others, so that a renewal takes little memory.
    init(
        id: String, origin: Box<Origin>, product: Box<StoreKitProduct>,
        webOrderLineItemID: String?, purchased: AppStoreDate, expires: AppStoreDate?,
        quantity: Int64 = 1, reason: TransactionReason, price: Int64,
        offer: Box<StoreKitOffer>?
    ) {
        self.id = id
        self.origin = origin
        boxedProduct = product
        self.webOrderLineItemID = webOrderLineItemID
        self.purchased = purchased
        self.expires = expires
        self.quantity = quantity
        self.reason = reason
        self.price = price
        boxedOffer = offer
    }

    var originalID: String { origin.value.originalID }
    var account: Account.Key { origin.value.account }
    var originallyPurchased: AppStoreDate { origin.value.originallyPurchased }
    var storefront: Storefront { origin.value.storefront }
    var ownership: OwnershipType { origin.value.ownership }
    var product: StoreKitProduct { boxedProduct.value }
    var offer: StoreKitOffer? { boxedOffer?.value }

    var appAccountToken: String? {
        get { origin.value.appAccountToken }
        set {
            var changed = origin.value
            changed.appAccountToken = newValue
            origin = Box(changed)
        }
    }

    /// Whether the paid time includes a moment, and the transaction is neither refunded nor
    /// replaced.
    func covers(_ now: AppStoreDate) -> Bool {
        guard revocation == nil, !isUpgraded, purchased <= now else { return false }
        return expires.map { now < $0 } ?? true
    }

    /// The refunded amount, in thousandths of the currency unit.
    var refunded: Int64 {
        (seats?.refunded ?? 0) + (revocation.map(amount) ?? 0)
    }

    /// The amount that a refund of the whole transaction returns.
    func amount(of revocation: Revocation) -> Int64 {
        RefundPercentage.part(revocation.percentage, of: price - revocation.earlier)
    }

    /// The same charge with the same order under another transaction id.
    func reissued(as id: String) -> Self { copy(id: id, purchased: purchased) }

    /// The same purchase with the id and date of a restore.
    func restored(as copy: RestoredTransactions.Copy) -> Self {
        self.copy(id: copy.id, purchased: copy.restored)
    }

    private func copy(id: String, purchased: AppStoreDate) -> Self {
        var copy = Self(
            id: id, origin: origin, product: boxedProduct,
            webOrderLineItemID: webOrderLineItemID, purchased: purchased, expires: expires,
            quantity: quantity, reason: reason, price: price, offer: boxedOffer)
        (copy.commitment, copy.advancedCommerce) = (commitment, advancedCommerce)
        (copy.revocation, copy.isUpgraded) = (revocation, isUpgraded)
        copy.sharedFrom = sharedFrom
        copy.boxedSeats = boxedSeats
        return copy
    }
}
