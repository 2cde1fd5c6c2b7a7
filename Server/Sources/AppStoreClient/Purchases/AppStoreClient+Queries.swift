import AppStoreFormats

// Calls that query the state of a transaction, a chain of renewals, or an account.

/// The state of one chain of renewals. Its documents are not trusted before their signatures are
/// verified.
package struct SubscriptionChainStatus: Hashable, Sendable {
    package var originalTransactionId: String
    package var status: SubscriptionStatus
    package var signedTransactionInfo: String
    package var signedRenewalInfo: String
}

/// Up to twenty transactions of an account, sorted by their last change.
package struct HistoryPage: Hashable, Sendable {
    package var signedTransactions: [String]
    /// The position of the next page. If the caller stores the position after the last page, a
    /// later request with it returns the transactions that are new since then.
    package var revision: String
    package var hasMore: Bool
}

extension AppStoreClient {
    /// The current state of one transaction, signed: "Get Transaction Info".
    package func transaction(
        _ id: String, in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> String {
        let path = "/inApps/v1/transactions/\(try Self.validated(id))"
        return try await json(.transaction, path, in: environment)
            .required("signedTransactionInfo")
    }

    /// All chains of renewals of a transaction's account, with the latest transaction of each: "Get
    /// All Subscription Statuses". Empty if the account has none.
    package func statuses(
        of id: String, in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> [SubscriptionChainStatus] {
        let path = "/inApps/v1/subscriptions/\(try Self.validated(id))"
        let answer = try await json(.statuses, path, in: environment)
        var statuses: [SubscriptionChainStatus] = []
        for group in try answer.requiredArray("data") {
            for chain in try group.requiredArray("lastTransactions") {
                statuses.append(try SubscriptionChainStatus(chain))
            }
        }
        return statuses
    }

    /// The transactions of a transaction's account that changed after a revision, or all of them,
    /// up to twenty per page: "Get Transaction History". Revoked transactions are included.
    ///
    /// A page should say whether more pages follow. If the page does not say so, the client assumes
    /// that more follow if the page has transactions and a new revision. So no page is lost, and
    /// the list ends.
    package func history(
        of id: String, in environment: StoreEnvironment, revision: String?
    ) async throws(AppStoreFailure) -> HistoryPage {
        let path = "/inApps/v2/history/\(try Self.validated(id))"
        // Every page must repeat the same query, otherwise the revision is not valid.
        let query = [("sort", "ASCENDING")] + (revision.map { [("revision", $0)] } ?? [])
        let answer = try await json(.history, path, query: query, in: environment)
        let transactions = try answer.requiredStrings("signedTransactions")
        let next = try answer.required("revision")
        let leadsOn = !transactions.isEmpty && next != revision
        return HistoryPage(
            signedTransactions: transactions, revision: next,
            hasMore: answer["hasMore"]?.bool ?? leadsOn)
    }

    /// The transactions of an order, by the order number in the customer's receipt email, each
    /// signed: "Look Up Order ID". Empty if this app has no such order. Only production knows
    /// orders.
    package func transactions(ofOrder id: String) async throws(AppStoreFailure) -> [String] {
        let path = "/inApps/v1/lookup/\(try Self.validated(id))"
        let answer = try await json(.order, path, in: .production)
        switch answer["status"]?.integer {
        case 0: return try answer.requiredStrings("signedTransactions")
        case 1: return []
        default: throw .unreadable("status must be 0 or 1")
        }
    }

    /// Finds the environment that knows a transaction: production is asked first, then the sandbox.
    /// The result never changes, so callers can store it.
    ///
    /// Production responds with 401 for an app that was never released. In this case the sandbox
    /// decides.
    ///
    /// - Throws: ``AppStoreFailure/unknownID`` if neither environment knows the transaction. This
    ///   result may change later.
    package func findEnvironment(_ id: String) async throws(AppStoreFailure) -> StoreEnvironment {
        let refusal: AppStoreFailure
        do {
            _ = try await transaction(id, in: .production)
            return .production
        } catch {
            switch error {
            case .unknownID, .unauthorized: refusal = error
            case .rateLimited, .unavailable, .refused, .unreadable: throw error
            }
        }
        do { _ = try await transaction(id, in: .sandbox) } catch {
            throw error == .unknownID ? refusal : error
        }
        return .sandbox
    }
}

extension SubscriptionChainStatus {
    fileprivate init(_ json: JSON) throws(AppStoreFailure) {
        guard let status = json["status"]?.integer else {
            throw .unreadable("status must be a number")
        }
        self.init(
            originalTransactionId: try json.required("originalTransactionId"),
            status: SubscriptionStatus(rawValue: status),
            signedTransactionInfo: try json.required("signedTransactionInfo"),
            signedRenewalInfo: try json.required("signedRenewalInfo"))
    }
}
