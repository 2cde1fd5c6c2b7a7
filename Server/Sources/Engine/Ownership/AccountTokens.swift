import Foundation
import Ledger
import Storage

/// What the account tokens of an app's purchases identify (Apple: `appAccountToken`).
package enum AccountTokens: String, Hashable, Sendable, CaseIterable {
    /// The tokens identify customers: each token is a customer's id.
    case customers
    /// The tokens do not identify customers, but something else that the app uses.
    case other
}

extension OwnershipService {
    /// Returns the UUID to set as account token (Apple: `appAccountToken`) when a customer buys.
    /// The UUID is one of the customer's ids: an id that the app has made, or else a new id that
    /// this function makes. Returns nil if the app's account tokens are not customer ids.
    /// Idempotent. Creates an unknown customer, unless the id itself is a UUID.
    ///
    /// - Parameter isByApp: whether the request has an app key.
    package func accountToken(
        for id: CustomerID, app appID: AppID, isByApp: Bool = false
    ) async throws(EngineFailure) -> CustomerID? {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        guard app.accountTokens == .customers else { return nil }
        let now = context.now()
        let wait = isByApp ? context.growth.wait(of: app, at: now) : nil
        let (token, added) = try await context.decide { tx -> Decision<(CustomerID, Int)> in
            if let token = try OwnershipDecisions(tx).accountToken(of: id, in: appID) {
                return .unchanged((token, 0))
            }
            let new = try IdentityDecisions(tx).countUnknown([id], in: appID)
            if let wait, new > 0 { return .refused(.growthBudgetExhausted(wait: wait)) }
            let customer = try IdentityUpdates(tx).customer(id, in: appID, at: now)
            try IdentityDecisions(tx).requireIDLimit(for: 1, beside: customer)
            let token = CustomerID(rawValue: UUID().uuidString.lowercased())
            try IdentityUpdates(tx).addAccountToken(
                token, to: customer.customer, in: appID, at: now)
            return .done((token, new + 1))
        }
        if isByApp { context.growth.add(added, of: app, at: now) }
        return token
    }

    /// The number of tokens examined at a time.
    private static let tokenBatch = 1_000

    /// Counts an app's purchases whose account token is not the id of a known customer. Writes
    /// nothing.
    package func purchasesWithUnknownTokens(app appID: AppID) async throws(EngineFailure)
        -> UnknownTokenCounts
    {
        let (app, _) = try context.app(appID)
        guard app.accountTokens == .customers else { return UnknownTokenCounts() }
        return try await context.read { tx in
            var found = UnknownTokenCounts()
            var last = ""
            while true {
                let batch = try tx.accountTokens.unknown(
                    in: appID, after: last, limit: Self.tokenBatch)
                guard let end = batch.last else { return found }
                last = end.token
                for stranger in batch
                where try CustomerID(accountToken: stranger.token) != nil
                    && !tx.erasedIDs.contains(token: stranger.token, in: appID)
                {
                    found.purchases += stranger.purchases
                    found.linked += stranger.linked
                }
            }
        }
    }
}

/// The number of purchases whose account token is not the id of a known customer.
package struct UnknownTokenCounts: Hashable, Sendable {
    package var purchases = 0
    /// The number of these purchases that belong to a customer nevertheless.
    package var linked = 0

    package init() {}
}

extension StoredCustomer {
    /// The oldest id that can be set as account token.
    var accountToken: CustomerID? { ids.lazy.compactMap(\.asAccountToken).first }
}

extension CustomerID {
    /// The id as an account token, in lower case. Nil if the id is not a UUID, or is the zero UUID.
    var asAccountToken: CustomerID? { accountToken.flatMap { CustomerID(accountToken: $0) } }
}
