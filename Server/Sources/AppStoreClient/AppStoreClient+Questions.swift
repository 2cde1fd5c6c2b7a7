import AppStoreFormats

// The calls that ask: what a transaction, a chain of renewals, an account has come to.

/// Where one chain of renewals stands. Nothing in it is trusted before its signatures are.
package struct StatusAnswer: Hashable, Sendable {
    package var originalTransactionId: String
    package var status: SubscriptionStatus
    package var signedTransactionInfo: String
    package var signedRenewalInfo: String
}

/// Up to twenty transactions of an account, in the order of their last change.
package struct HistoryPage: Hashable, Sendable {
    package var signedTransactions: [String]
    /// Where the next page begins. Kept after the last one, it later leads to what is new.
    package var revision: String
    package var hasMore: Bool
}

extension AppStoreClient {
    /// One transaction as it stands now, signed: "Get Transaction Info".
    package func transaction(
        _ id: String, in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> String {
        let path = "/inApps/v1/transactions/\(try Self.checked(id))"
        return try await json(.transaction, path, in: environment)
            .required("signedTransactionInfo")
    }

    /// All chains of renewals of a transaction's account, with the latest transaction of each:
    /// "Get All Subscription Statuses". Empty where the account has none.
    package func statuses(
        of id: String, in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> [StatusAnswer] {
        let path = "/inApps/v1/subscriptions/\(try Self.checked(id))"
        let answer = try await json(.statuses, path, in: environment)
        var statuses: [StatusAnswer] = []
        for group in try answer.requiredArray("data") {
            for chain in try group.requiredArray("lastTransactions") {
                statuses.append(try StatusAnswer(chain))
            }
        }
        return statuses
    }

    /// The transactions of a transaction's account that changed after a revision, or all of them,
    /// up to twenty: "Get Transaction History". Those that are revoked are among them.
    ///
    /// Every page says whether there are more. One that does not is taken to have some behind it
    /// while it holds something and leads on: so nothing is lost, and the list ends.
    package func history(
        of id: String, in environment: StoreEnvironment, revision: String?
    ) async throws(AppStoreFailure) -> HistoryPage {
        let path = "/inApps/v2/history/\(try Self.checked(id))"
        // Every page repeats the same question, or its revision would not fit.
        let query = [("sort", "ASCENDING")] + (revision.map { [("revision", $0)] } ?? [])
        let answer = try await json(.history, path, query: query, in: environment)
        let transactions = try answer.requiredTexts("signedTransactions")
        let next = try answer.required("revision")
        let leadsOn = !transactions.isEmpty && next != revision
        return HistoryPage(
            signedTransactions: transactions, revision: next,
            hasMore: answer["hasMore"]?.bool ?? leadsOn)
    }

    /// The transactions of an order, by the number that stands in the customer's mail, each signed:
    /// "Look Up Order ID". Empty where there is no such order of this app. Only production knows
    /// orders.
    package func transactions(ofOrder id: String) async throws(AppStoreFailure) -> [String] {
        let path = "/inApps/v1/lookup/\(try Self.checked(id))"
        let answer = try await json(.order, path, in: .production)
        switch answer["status"]?.integer {
        case 0: return try answer.requiredTexts("signedTransactions")
        case 1: return []
        default: throw .unreadable("status is neither 0 nor 1")
        }
    }

    /// Which store knows a transaction: production is asked first, then the sandbox. It never
    /// changes, so that whoever asked remembers it.
    ///
    /// Production answers 401 for an app that was never released: then the sandbox decides.
    ///
    /// - Throws: ``AppStoreFailure/unknownThere`` where both do not know it, which is not for ever.
    package func whereKnown(_ id: String) async throws(AppStoreFailure) -> StoreEnvironment {
        let refusal: AppStoreFailure
        do {
            _ = try await transaction(id, in: .production)
            return .production
        } catch {
            switch error {
            case .unknownThere, .unauthorized: refusal = error
            case .tooMany, .unavailable, .refused, .unreadable: throw error
            }
        }
        do { _ = try await transaction(id, in: .sandbox) } catch {
            throw error == .unknownThere ? refusal : error
        }
        return .sandbox
    }
}

extension StatusAnswer {
    fileprivate init(_ json: JSON) throws(AppStoreFailure) {
        guard let status = json["status"]?.integer else {
            throw .unreadable("status is no number")
        }
        self.init(
            originalTransactionId: try json.required("originalTransactionId"),
            status: SubscriptionStatus(rawValue: status),
            signedTransactionInfo: try json.required("signedTransactionInfo"),
            signedRenewalInfo: try json.required("signedRenewalInfo"))
    }
}
