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

    let id: String
    let account: Account.Key
    let groupID: String
    var transactions: [StoreTransaction]
    /// What the next period will be of.
    var nextProduct: StoreKitProduct
    var renews = true
    var phase = Phase.active
    /// Whether the bank refuses.
    var paymentFails = false
    var runningOffer: RunningOffer?
    var anchor: StoreCalendar.Anchor
    /// Since when there was no long gap.
    var startedRecently: AppStoreDate
    /// Since the last purchase by hand. The sandbox allows twelve.
    var renewalCount = 0

    /// A chain is made with its first transaction and never loses one.
    var latest: StoreTransaction { transactions[transactions.count - 1] }

    /// The end of what was paid.
    var paidUntil: AppStoreDate { latest.expires ?? latest.purchased }

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

    var status: SubscriptionStatus {
        switch phase {
        case .active: .active
        case .grace: .gracePeriod
        case .retry: .billingRetry
        case .ended: .expired
        case .revoked: .revoked
        }
    }

    /// When something will happen by itself. In the past where that is overdue.
    func due(renewsEarlySeconds: Int64) -> AppStoreDate? {
        switch phase {
        case .active:
            guard renews, !paymentFails else { return paidUntil }
            // Never before half of the period, or periods of sandbox minutes would be charged all
            // at once.
            let half = (paidUntil.milliseconds - latest.purchased.milliseconds) / 2
            let early = min(renewsEarlySeconds * 1000, half)
            return AppStoreDate(milliseconds: paidUntil.milliseconds - early)
        case .grace(let until, _), .retry(let until): return until
        case .ended, .revoked: return nil
        }
    }
}
