import AppStoreFormats

/// One account's chain of transactions in one subscription group, and its state.
struct Subscription: Sendable {
    enum Phase: Hashable, Sendable {
        /// The last period is paid.
        case active
        /// The payment failed; access continues during the grace period.
        case grace(until: AppStoreDate, retryUntil: AppStoreDate)
        /// The payment is being retried, without access.
        case retry(until: AppStoreDate)
        case ended(ExpirationIntent)
        /// The latest transaction was refunded.
        case revoked
    }

    /// An offer price that applies to a number of further periods.
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
    private(set) var boxedNextProduct: Box<StoreKitProduct>
    /// Whether the customer wants the subscription to renew. Within a commitment, this is about the
    /// time after the commitment.
    var renews = true
    var phase = Phase.active
    /// Why the subscription last ended. Kept while its last transaction is refunded.
    var endedBy: ExpirationIntent?
    /// Whether payments fail.
    var paymentFails = false
    var runningOffer: RunningOffer?
    var pendingOffer: Box<PendingOffer>?
    /// A commitment that begins when the current offers are over.
    var plannedCommitment: Commitment.Terms?
    /// The id of the purchaser's chain that this chain follows. Nil if the account bought the
    /// subscription itself.
    private(set) var sharedBy: String?
    var anchor: StoreCalendar.Anchor
    /// The start of the current span of subscription time without a long gap.
    var startedRecently: AppStoreDate
    /// The number of renewals since the last manual purchase. The sandbox allows twelve.
    var renewalCount = 0
    /// Whether the subscription has renewed as often as the sandbox allows. After that, a
    /// commitment does not continue either.
    var hasReachedRenewalLimit = false
    var commitment: Commitment?
    /// Every price rise that was announced to the customer, oldest first.
    var priceRises: [PriceRise] = []
    /// The moments at which the renewal date was extended.
    var extensions: [AppStoreDate] = []
    /// The changes of the phase and of the renewal, oldest first.
    var steps: [ChainStep] = []
    var advancedCommerce: Box<AdvancedCommerceRenewal>?
    /// The number of seats of the next period. 1 for an ordinary subscription.
    var plannedSeats: Int64 = 1
    /// Whether Apple or the app's server invites members, as decided when the subscription began.
    var invitations = SeatInvitations.apple
    /// The members who have seats. Nil if there was never more than one seat since the subscription
    /// was last bought.
    var group: SeatGroup?
    /// Whether renewal was switched off too late, so that one more period is charged.
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
        boxedNextProduct = Box(nextProduct)
        self.anchor = anchor
        self.startedRecently = startedRecently
    }

    /// The product that the customer has chosen for the future. The remaining months of a
    /// commitment keep their product.
    var nextProduct: StoreKitProduct {
        get { boxedNextProduct.value }
        set { boxedNextProduct = Box(newValue) }
    }

    /// The latest transaction. A chain is created with its first transaction and never loses one.
    var latest: StoreTransaction { transactions[transactions.count - 1] }

    /// The transaction before the latest.
    var previous: StoreTransaction? {
        transactions.count > 1 ? transactions[transactions.count - 2] : nil
    }

    /// The end of the paid time.
    var paidUntil: AppStoreDate { latest.expires ?? latest.purchased }

    /// Whether the customer has chosen that another period follows. The months of a commitment
    /// follow in any case, unless the subscription is over.
    var continuesRenewing: Bool {
        renews || isWithinCommitment && !isOver && !hasReachedRenewalLimit
    }

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

    /// The status at a moment. The subscription is also active during a period whose renewal was
    /// charged early and refunded.
    func status(at now: AppStoreDate) -> SubscriptionStatus {
        switch phase {
        case .active: .active
        case .grace: .gracePeriod
        case .retry: .billingRetry
        case .ended: .expired
        case .revoked: transactions.contains { $0.covers(now) } ? .active : .revoked
        }
    }

    /// When the next event of the chain happens by itself. In the past if the event is overdue.
    func due(renewsEarlySeconds: Int64) -> AppStoreDate? {
        guard sharedBy == nil else { return nil }
        switch phase {
        case .active:
            guard continuesRenewing, !paymentFails, pendingRise(at: paidUntil) == nil else {
                return paidUntil
            }
            // Not before the middle of the period. Otherwise, in a sandbox with periods of minutes,
            // all periods would be charged at once.
            let half = (paidUntil.milliseconds - latest.purchased.milliseconds) / 2
            let early = min(renewsEarlySeconds * 1000, half)
            return AppStoreDate(milliseconds: paidUntil.milliseconds - early)
        case .grace(let until, _), .retry(let until): return until
        case .revoked: return renews ? paidUntil : nil
        case .ended: return nil
        }
    }

    /// The chain of a family member, in the same state as this one but with its own transactions.
    ///
    /// - Parameter startedRecently: the value of the member's own chain, which may have begun
    ///   later. Without a long gap, the value equals `originalPurchaseDate` (Apple's page
    ///   "recentSubscriptionStartDate").
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

    /// The chain with only its latest transaction, which is all that a document about it needs.
    var trimmed: Self {
        var copy = self
        copy.transactions = [latest]
        copy.steps = []
        return copy
    }
}
