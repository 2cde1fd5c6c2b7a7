import AppStoreFormats

/// The time for which one transaction gives access.
struct Spell: Hashable, Sendable {
    let transaction: AppleTransaction
    let begins: AppStoreDate
    /// Nil if nothing ends it.
    fileprivate(set) var ends: AppStoreDate?
    /// The end of the grace period, if access lasts until then.
    fileprivate(set) var graceUntil: AppStoreDate?
    /// Whether the transaction began a subscription, or began it again.
    let startsRun: Bool

    func covers(_ now: AppStoreDate) -> Bool {
        begins <= now && (ends.map { now < $0 } ?? true)
    }

    var isEmpty: Bool { ends.map { $0 <= begins } ?? false }
}

/// One purchase as RevenueCat sees it: all transactions with the same original transaction id.
///
/// Of each transaction and of the renewal info, the document that was signed last counts. A period
/// ends at its expiry; earlier if it was refunded or is no longer shared, or if an upgrade replaced
/// it; later in a grace period, because RevenueCat moves the end of the period to the end of the
/// grace period.
struct PurchaseLine: Sendable {
    let originalID: String
    /// In the order in which the periods begin.
    let spells: [Spell]
    let renewal: AppleRenewal?
    /// When the double learned that renewal was switched off. Nil while it is on.
    private(set) var unsubscribed: AppStoreDate?
    /// When the double learned that a payment failed. Nil after it has succeeded.
    private(set) var billingIssue: AppStoreDate?

    /// - Parameter skipsGrace: whether to ignore grace periods.
    /// - Parameter revise: changes each transaction before it is used, for planted faults.
    init?(
        _ facts: [AppleFacts], skipsGrace: Bool = false,
        revise: (inout AppleTransaction) -> Void = { _ in }
    ) {
        guard let first = facts.first else { return nil }
        originalID = first.transaction.originalID
        let inOrder = facts.enumerated().sorted {
            ($0.element.signed, $0.offset) < ($1.element.signed, $1.offset)
        }.map(\.element)
        renewal = inOrder.last { $0.renewal != nil }?.renewal
        let grace = skipsGrace ? nil : renewal.flatMap { $0.isRetrying ? $0.graceUntil : nil }
        spells = Self.spells(inOrder, graceUntil: grace, revise)
        for notice in inOrder { follow(notice) }
    }

    /// The last period that has begun or will begin, which the renewal info is about. A period that
    /// was charged early may have been refunded, or replaced, before it began.
    var latest: Spell? { spells.last { !$0.isEmpty } ?? spells.last }

    var isSubscription: Bool { spells.first?.transaction.type == .autoRenewable }

    private mutating func follow(_ notice: AppleFacts) {
        guard let renewal = notice.renewal else { return }
        if renewal.renews {
            unsubscribed = nil
        } else if renewal.intent != .billingError {
            unsubscribed = unsubscribed ?? notice.arrived
        }
        if renewal.isRetrying {
            billingIssue = billingIssue ?? notice.arrived
        } else if renewal.intent != .billingError {
            billingIssue = nil
        }
    }

    /// The transactions in their newest state, and what the notifications said about them.
    private struct Account {
        var newest: [String: AppleTransaction] = [:]
        var firstSigned: [String: AppStoreDate] = [:]
        /// The ids of the transactions that began a subscription.
        var starts: Set<String> = []
        var replacements: [(by: String, at: AppStoreDate, signed: AppStoreDate)] = []

        mutating func add(_ notice: AppleFacts) {
            let transaction = notice.transaction
            newest[transaction.id] = transaction
            if firstSigned[transaction.id] == nil { firstSigned[transaction.id] = notice.signed }
            if notice.type == .subscribed { starts.insert(transaction.id) }
            if notice.replacesPaidTime {
                replacements.append((transaction.id, transaction.purchased, notice.signed))
            }
        }

        /// When an upgrade ended a transaction. Nil if none did.
        func replaced(_ transaction: AppleTransaction) -> AppStoreDate? {
            guard let known = firstSigned[transaction.id] else { return nil }
            return replacements.filter { $0.by != transaction.id && known < $0.signed }
                .map(\.at).filter { at in transaction.expires.map { at < $0 } ?? true }.min()
        }
    }

    private static func spells(
        _ inOrder: [AppleFacts], graceUntil: AppStoreDate?,
        _ revise: (inout AppleTransaction) -> Void
    ) -> [Spell] {
        var account = Account()
        for notice in inOrder { account.add(notice) }
        let transactions = account.newest.values.sorted {
            ($0.purchased, $0.id) < ($1.purchased, $1.id)
        }
        var spells = transactions.map { transaction in
            var shown = transaction
            revise(&shown)
            let ends = [shown.expires, shown.revoked, account.replaced(transaction)]
            return Spell(
                transaction: shown, begins: shown.purchased, ends: ends.compactMap(\.self).min(),
                graceUntil: nil, startsRun: account.starts.contains(transaction.id))
        }
        if let graceUntil, let last = spells.lastIndex(where: { !$0.isEmpty }),
            spells[last].transaction.revoked == nil, let end = spells[last].ends, end < graceUntil
        {
            (spells[last].ends, spells[last].graceUntil) = (graceUntil, graceUntil)
        }
        return spells
    }
}
