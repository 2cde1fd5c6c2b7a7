import Ledger

// A purchase that is nobody's counts in the wallets of the customer whom its account token names.
// An app can let the App Store name another account later (Apple: "Set App Account Token"). What
// was spent by then must not be credited a second time: such a purchase is linked to whoever spent
// it. What was not spent goes to the account that is named now. So documents alone lead to the same
// end in every order; only a debit between them makes a difference.
extension DatabaseSession {
    /// Whom a purchase named until now that names another customer from now on, or nobody. Nil
    /// where it puts nothing into wallets, or had named nobody who is known.
    ///
    /// - Parameter before: the purchase as it is stored; it is nobody's by a link.
    func formerHolder(
        of before: Timeline, becoming after: Timeline, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        guard let rules = rules.wallets[app], let token = before.accountToken,
            token != after.accountToken, !rules.currencies(of: before).isEmpty,
            let former = try beneficiary(nil, token: token, in: app)
        else { return nil }
        let next = try beneficiary(nil, token: after.accountToken, in: app)
        return next == former ? nil : former
    }

    /// The same customer, where they keep the purchase: they have spent some of it.
    func keeper(
        of before: Timeline, becoming after: Timeline, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        let purchase = before.purchase
        guard let former = try formerHolder(of: before, becoming: after, in: app),
            let purse = try walletProjection(of: former, in: app, purchase.environment)
        else { return nil }
        return purse.hasSpent(of: purchase) ? former : nil
    }

    /// Who will keep a purchase once documents are kept that make it this; nil where it will be
    /// whose the documents say. To be asked of a purchase that is nobody's by a link.
    package func keeper(
        of after: Timeline, in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        guard after.hasConsumables, rules.wallets[app] != nil,
            let before = try timeline(of: after.purchase, in: app)
        else { return nil }
        return try keeper(of: before, becoming: after, in: app)
    }
}
