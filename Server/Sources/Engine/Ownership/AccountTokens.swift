import Foundation
import Ledger
import Storage

/// What the account tokens of an app's purchases identify (Apple: `appAccountToken`).
package enum AccountTokens: String, Hashable, Sendable, CaseIterable {
    /// Customers: each token is a customer's id.
    case customers
    /// Something else that the app uses. They identify no customer.
    case other
}

extension Engine {
    /// The UUID to set as account token (Apple: `appAccountToken`) when a customer buys. It is an
    /// id of theirs: one that the app has made, or else one that is made here. Returns nil if the
    /// app's account tokens are not customer ids. Idempotent. Creates a customer who is unknown,
    /// unless the id itself is a UUID.
    ///
    /// - Parameter isByApp: whether the request has an app key.
    package func accountToken(
        for id: CustomerID, app appID: AppID, isByApp: Bool = false
    ) async throws(EngineFailure) -> CustomerID? {
        let (app, _) = try app(appID)
        try id.requireValid()
        guard app.accountTokens == .customers else { return nil }
        let now = now()
        let wait = isByApp ? growth.wait(of: app, at: now) : nil
        let (token, added) = try await decide { tx -> Decision<(CustomerID, Int)> in
            if let token = try tx.accountToken(of: id, in: appID) {
                return .unchanged((token, 0))
            }
            let new = try tx.countUnknown([id], in: appID)
            if let wait, new > 0 { return .refused(.growthBudgetExhausted(wait: wait)) }
            let customer = try tx.customer(id, in: appID, at: now)
            try tx.requireIDLimit(for: 1, beside: customer)
            let token = CustomerID(rawValue: UUID().uuidString.lowercased())
            try tx.addAccountToken(token, to: customer.customer, in: appID, at: now)
            return .done((token, new + 1))
        }
        if isByApp { growth.add(added, of: app, at: now) }
        return token
    }

    /// The number of tokens examined at a time.
    private static let tokenBatch = 1_000

    /// Counts an app's purchases whose account token is not the id of a known customer. Only reads.
    package func purchasesWithUnknownTokens(app appID: AppID) async throws(EngineFailure)
        -> UnknownTokenCounts
    {
        let (app, _) = try app(appID)
        guard app.accountTokens == .customers else { return UnknownTokenCounts() }
        return try await read { tx in
            var found = UnknownTokenCounts()
            var last = ""
            while true {
                let batch = try tx.unknownTokens(
                    in: appID, after: last, limit: Self.tokenBatch)
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

/// How many purchases have an account token that is not the id of a known customer.
package struct UnknownTokenCounts: Hashable, Sendable {
    package var purchases = 0
    /// How many of these belong to a customer nevertheless.
    package var linked = 0

    package init() {}
}

extension StoredCustomer {
    /// The oldest id that can be set as account token.
    var accountToken: CustomerID? { ids.lazy.compactMap(\.asAccountToken).first }
}

extension CustomerID {
    /// The id as an account token, in lower case. Nil if it is not a UUID, or the zero UUID.
    var asAccountToken: CustomerID? { accountToken.flatMap { CustomerID(accountToken: $0) } }
}

extension DatabaseSession {
    /// The id that a customer can set as account token. Returns nil if they have none yet.
    fileprivate func accountToken(
        of id: CustomerID, in app: AppID
    ) throws -> CustomerID? {
        guard let known = try customer(known: id, in: app) else { return id.asAccountToken }
        return known.accountToken
    }

    /// The customer that a purchase's account token identifies: a known customer; or an unknown id,
    /// in the spelling of one of the given ids, or else in lower case. Returns nil if the token was
    /// an id of an erased customer, or if the app's tokens are not customer ids.
    func identified(
        by token: String?, or ids: [CustomerID], in app: AppID
    ) throws(StorageFailure) -> CustomerID? {
        guard let token, tokensIdentifyCustomers(in: app), try !isErased(token: token, in: app)
        else {
            return nil
        }
        if let named = try customer(named: token, in: app) { return named }
        guard let stranger = CustomerID(accountToken: token) else { return nil }
        return ids.first { $0.accountToken == stranger.rawValue } ?? stranger
    }

    /// Whether nothing was spent of the credits that a purchase gave its owner's wallets. Returns
    /// false if some of it was credited to no wallet: then the app delivers it, and we do not know
    /// what is left. Returns false, too, if any of it was refunded: while the refund stands, it
    /// covers what was spent.
    ///
    /// - Parameter owner: a customer, an unknown id, or the pseudonym of an erased customer.
    func isUnspent(
        _ timeline: Timeline, of owner: CustomerID, in app: AppSettings
    ) throws -> Bool {
        let environment = timeline.purchase.environment
        let bought = timeline.periods.map(\.payment).filter { $0.kind == .consumable }
        guard bought.allSatisfy({ $0.revocation == nil }) else { return false }
        let ids = try customer(known: owner, in: app.id)?.ids ?? [owner]
        // Uses the links themselves, because an erased customer has no ids.
        let timelines =
            try timelines(of: owner, in: app.id, environment: environment)
            + timelinesByToken(ids, in: app.id, environment: environment)
        let payments = timelines.flatMap { $0.periods.map(\.payment) }
        var inWallets: Set<TransactionID> = []
        for currency in app.wallets.allCurrencies.sorted() {
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
