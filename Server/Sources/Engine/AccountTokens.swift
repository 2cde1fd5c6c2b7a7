import Ledger
import Storage

/// Whom the account tokens of an app's purchases name (Apple: `appAccountToken`).
package enum AccountTokens: String, Hashable, Sendable, CaseIterable {
    /// Customers: each token is the id of one.
    case customers
    /// Something else of the app's. They name nobody.
    case other
}

extension Engine {
    /// Tokens that are looked at together.
    private static let tokensAtOnce = 1_000

    /// Counts an app's purchases whose account token is no id of a customer. Only reads.
    package func purchasesNamingStrangers(app appID: AppID) async throws(EngineFailure)
        -> NamedStrangers
    {
        let (app, _) = try app(appID)
        guard app.accountTokens == .customers else { return NamedStrangers() }
        return try await reading { tx in
            var found = NamedStrangers()
            var last = ""
            while true {
                let batch = try tx.strangersNamed(
                    in: appID, after: last, limit: Self.tokensAtOnce)
                guard let end = batch.last else { return found }
                last = end.token
                for stranger in batch
                where try CustomerID(accountToken: stranger.token) != nil
                    && !tx.isErased(token: stranger.token, in: appID)
                {
                    found.purchases += stranger.purchases
                    found.linked += stranger.linked
                }
            }
        }
    }
}

/// How many purchases have an account token that is no id of a customer.
package struct NamedStrangers: Hashable, Sendable {
    package var purchases = 0
    /// Of these, how many belong to a customer all the same.
    package var linked = 0

    package init() {}
}

extension StoreTransaction {
    /// Whom the account token of a purchase names: a customer; or an id by which nobody is known
    /// yet, in the spelling of one of these ids, or else in lower case. Nobody, where somebody who
    /// was erased had it as an id, or the app's tokens are no ids of customers.
    func named(
        by token: String?, or ids: [CustomerID], in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        guard let token, tokensNameCustomers(in: app), try !isErased(token: token, in: app) else {
            return nil
        }
        if let named = try customer(named: token, in: app) { return named }
        guard let stranger = CustomerID(accountToken: token) else { return nil }
        return ids.first { $0.accountToken == stranger.rawValue } ?? stranger
    }

    /// Whether nothing was spent of what a purchase has put into its owner's wallets. False also
    /// if some of it is in no wallet: then the app delivers it, and we do not know what is left.
    /// And if any of it was refunded: the refund covers what was spent, as long as it stands.
    ///
    /// - Parameter owner: a customer, an id by which nobody is known yet, or the name that stands
    ///   for somebody who was erased.
    func isUnspent(
        _ timeline: Timeline, of owner: CustomerID, in app: AppSettings
    ) throws -> Bool {
        let environment = timeline.purchase.environment
        let bought = timeline.periods.map(\.payment).filter { $0.kind == .consumable }
        guard bought.allSatisfy({ $0.revocation == nil }) else { return false }
        let ids = try customer(known: owner, in: app.id)?.ids ?? [owner]
        // By the links themselves: whoever was erased has no id any more.
        let timelines =
            try timelines(of: owner, in: app.id, environment: environment)
            + namedTimelines(ids, in: app.id, environment: environment)
        let payments = timelines.flatMap { $0.periods.map(\.payment) }
        var inWallets: Set<TransactionID> = []
        for currency in app.wallets.all.sorted() {
            let credited = bought.filter { Wallet.credits($0, currency, rules: app.wallets) }
            guard !credited.isEmpty else { continue }
            let wallet = try wallet(
                currency, of: owner, payments, in: app, environment: environment)
            for payment in credited {
                guard wallet.spent(of: payment.transaction)?.amount == 0 else { return false }
                inWallets.insert(payment.transaction)
            }
        }
        return bought.allSatisfy { inWallets.contains($0.transaction) }
    }
}
