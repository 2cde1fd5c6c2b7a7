import Ledger
import Storage

// A purchase without a link counts in the wallets of the customer whom its account token names. An
// app can set another account later (Apple: "Set App Account Token"), and units that were already
// spent must not be credited a second time. So a spent purchase is linked to the customer who spent
// it. An unspent purchase goes to the account that the documents now name. So documents alone lead
// to the same result in any order. The order matters only if there is a debit between two
// documents.
//
// A change of the configuration may have the effect that tokens no longer name customers. No
// document reports such a change. So a debit immediately links the purchases that it spends. The
// rule about documents is still needed: spent purchases can be without a link if a later purchase
// paid a debt, or if two wallets were merged.
extension WalletUpdates {
    /// The customer whom a purchase named until now, if the purchase now names another customer or
    /// no customer. Returns nil if the purchase credits nothing or named no known customer.
    ///
    /// - Parameter before: the stored purchase. The purchase must have no link.
    func formerBeneficiary(
        of before: Timeline, becoming after: Timeline, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        guard let rules = rules.wallets[app], let token = before.accountToken,
            token != after.accountToken, !rules.currencies(of: before).isEmpty,
            let former = try OwnershipUpdates(tx).beneficiary(nil, token: token, in: app)
        else { return nil }
        let next = try OwnershipUpdates(tx).beneficiary(nil, token: after.accountToken, in: app)
        return next == former ? nil : former
    }

    /// Finds the purchases that a customer has only because of their account token, and whose
    /// credits the customer has spent at least in part. Links these purchases to the customer, and
    /// emits events. Balances do not change. Idempotent.
    func linkSpent(
        by customer: CustomerID, in app: AppID, _ environment: Environment, at now: Instant
    ) throws(StorageFailure) {
        guard let rules = rules.wallets[app],
            let known = try tx.customers.find(known: customer, in: app)
        else { return }
        let named = try tx.accountTokens.timelines(known.ids, in: app, environment: environment)
            .filter { !rules.currencies(of: $0).isEmpty }
        guard !named.isEmpty,
            let projection = try projection(of: customer, in: app, environment)
        else { return }
        for timeline in named where projection.hasSpent(of: timeline.purchase) {
            try OwnershipUpdates(tx).link(
                timeline.purchase, to: customer, by: .token, in: app, at: now)
        }
    }

    /// The customer who keeps a purchase although its account token changes, because the customer
    /// has spent some of it. Returns nil if there is no such customer.
    func formerSpender(
        of before: Timeline, becoming after: Timeline, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        let purchase = before.purchase
        guard let former = try formerBeneficiary(of: before, becoming: after, in: app),
            let projection = try projection(of: former, in: app, purchase.environment)
        else { return nil }
        return projection.hasSpent(of: purchase) ? former : nil
    }

    /// The customer who will keep a purchase when the documents of this timeline are recorded.
    /// Returns nil if the purchase goes to the customer whom the documents name. The purchase must
    /// have no link.
    func formerSpender(
        of after: Timeline, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        guard after.hasConsumables, rules.wallets[app] != nil,
            let before = try tx.purchases.timeline(of: after.purchase, in: app)
        else { return nil }
        return try formerSpender(of: before, becoming: after, in: app)
    }
}
