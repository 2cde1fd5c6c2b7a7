import AppStoreFormats

/// One account's chain of transactions in one subscription group, and where it stands.
struct Subscription: Sendable {
    enum Phase: Hashable, Sendable {
        /// The last period is paid.
        case active
        /// The payment was refused; access goes on for a while.
        case grace(until: AppStoreDate, retryUntil: AppStoreDate)
        /// The payment is tried again, without access.
        case retry(until: AppStoreDate)
        case ended(ExpirationIntent)
        /// The last transaction was refunded.
        case revoked
    }

    /// A price that holds for some periods more.
    struct RunningOffer: Hashable, Sendable {
        let offer: StoreKitOffer
        var periodsLeft: Int
    }

    /// An offer that begins with the next billing, if the product is still the same then.
    struct PendingOffer: Hashable, Sendable {
        let offer: StoreKitOffer
        let productID: String
    }

    private(set) var id: String
    private(set) var account: Account.Key
    let groupID: String
    var pace: Pace
    var transactions: [StoreTransaction]
    private(set) var sharedNextProduct: Shared<StoreKitProduct>
    /// What the customer wants: within a commitment, for the time after it.
    var renews = true
    var phase = Phase.active
    /// Why it ended last; also while what it ended with is refunded.
    var endedBy: ExpirationIntent?
    /// Whether the bank refuses.
    var paymentFails = false
    var runningOffer: RunningOffer?
    var pendingOffer: Shared<PendingOffer>?
    /// A commitment that begins when the offers are over.
    var plannedCommitment: Commitment.Terms?
    /// The purchaser's chain, which this one follows; nil of what the account itself has bought.
    private(set) var sharedBy: String?
    var anchor: StoreCalendar.Anchor
    /// Since when there was no long gap.
    var startedRecently: AppStoreDate
    /// Since the last purchase by hand. The sandbox allows twelve.
    var renewalCount = 0
    /// It has renewed as often as the sandbox lets it: promised months go on no longer either.
    var isUsedUp = false
    var commitment: Commitment?
    /// Every rise of the price that the customer was told of, oldest first.
    var priceRises: [PriceRise] = []
    /// When the renewal date was put off.
    var extensions: [AppStoreDate] = []
    var advancedCommerce: Shared<AdvancedCommerceRenewal>?
    /// Renewal was switched off too late: one more period is charged.
    var isChargeUnderWay = false

    init(
        id: String, account: Account.Key, groupID: String, transactions: [StoreTransaction],
        nextProduct: StoreKitProduct, anchor: StoreCalendar.Anchor, startedRecently: AppStoreDate,
        pace: Pace = .realTime
    ) {
        self.id = id
        self.account = account
        self.groupID = groupID
        self.pace = pace
        self.transactions = transactions
        sharedNextProduct = Shared(nextProduct)
        self.anchor = anchor
        self.startedRecently = startedRecently
    }

    /// What the customer has chosen for the time to come. Within a commitment the months before its
    /// end stay what they are.
    var nextProduct: StoreKitProduct {
        get { sharedNextProduct.value }
        set { sharedNextProduct = Shared(newValue) }
    }

    /// A chain is made with its first transaction and never loses one.
    var latest: StoreTransaction { transactions[transactions.count - 1] }

    /// The transaction before the latest.
    var previous: StoreTransaction? {
        transactions.count > 1 ? transactions[transactions.count - 2] : nil
    }

    /// The end of what was paid.
    var paidUntil: AppStoreDate { latest.expires ?? latest.purchased }

    /// Whether another period follows, as far as the customer is concerned: the months of a
    /// commitment do in any case, unless it is over.
    var goesOn: Bool { renews || isWithinCommitment && !isOver && !isUsedUp }

    var isRetrying: Bool {
        switch phase {
        case .grace, .retry: true
        case .active, .ended, .revoked: false
        }
    }

    var isOver: Bool {
        switch phase {
        case .ended, .revoked: true
        case .active, .grace, .retry: false
        }
    }

    /// Active, too, while a period goes on whose renewal was charged ahead and given back.
    func status(at now: AppStoreDate) -> SubscriptionStatus {
        switch phase {
        case .active: .active
        case .grace: .gracePeriod
        case .retry: .billingRetry
        case .ended: .expired
        case .revoked: transactions.contains { $0.covers(now) } ? .active : .revoked
        }
    }

    /// When something will happen by itself. In the past where that is overdue.
    func due(renewsEarlySeconds: Int64) -> AppStoreDate? {
        guard sharedBy == nil else { return nil }
        switch phase {
        case .active:
            guard goesOn, !paymentFails, pendingRise(at: paidUntil) == nil else {
                return paidUntil
            }
            // Never before half of the period, or periods of sandbox minutes would be charged all
            // at once.
            let half = (paidUntil.milliseconds - latest.purchased.milliseconds) / 2
            let early = min(renewsEarlySeconds * 1000, half)
            return AppStoreDate(milliseconds: paidUntil.milliseconds - early)
        case .grace(let until, _), .retry(let until): return until
        case .revoked: return renews ? paidUntil : nil
        case .ended: return nil
        }
    }

    /// The chain of a family member, which stands as this one does, with transactions of its own.
    ///
    /// - Parameter startedRecently: of the member's own part, which may have begun later (Apple's
    ///   page "recentSubscriptionStartDate": without a long gap that is `originalPurchaseDate`).
    func followed(
        by member: Account.Key, id: String, transactions: [StoreTransaction],
        startedRecently: AppStoreDate
    ) -> Self {
        var chain = self
        chain.sharedBy = self.id
        chain.startedRecently = startedRecently
        chain.account = member
        chain.id = id
        chain.transactions = transactions
        if let last = transactions.indices.last,
            let paid = self.transactions.last(where: { $0.id == transactions[last].sharedFrom })
        {
            chain.transactions[last].expires = paid.expires
        }
        return chain
    }

    /// The chain with its latest transaction alone: what a document about it needs.
    var abridged: Self {
        var copy = self
        copy.transactions = [latest]
        return copy
    }
}
