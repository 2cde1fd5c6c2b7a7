import Ledger
import Storage

extension ImportService {
    /// Records what an export says about a customer and a sale, beside the purchase. Values that
    /// are newer here stay. Idempotent.
    ///
    /// - Parameters:
    ///   - id: the row's customer. Nil if the row names none.
    ///   - other: another id of the customer.
    ///   - purchase: the row's purchase, which must be recorded before. Nil for a grant.
    ///   - isTrial: whether to record nothing, and to check only the values themselves.
    /// - Returns: `unusable` if an attribute breaks a rule; the others are recorded.
    package func record(
        _ details: ImportedDetails, of id: CustomerID?, also other: CustomerID? = nil,
        _ purchase: PurchaseID?, app: AppID, isTrial: Bool = false
    ) async throws(EngineFailure) -> ImportOutcome {
        guard !details.isEmpty else { return .recorded }
        let now = context.now()
        let ids = [id, other].compactMap { $0 }
        // Most rows repeat what an earlier row of the same customer says, and need no write.
        let found = try await context.read { tx in
            try ImportDecisions(tx).news(in: details, about: ids, purchase, in: app, at: now)
        }
        if !isTrial, !found.isEmpty {
            try await context.transaction { tx in
                let decisions = ImportDecisions(tx)
                let news = try decisions.news(
                    in: details, about: ids, purchase, in: app, at: now)
                try decisions.record(news, about: id, in: app, at: now)
            }
        }
        guard let first = found.refused.first else { return .recorded }
        return .unusable("the attribute \(first.name.prefix(40)) was left out: \(first.why)")
    }

    /// Records a grant of a vendor, and makes the row's ids one customer. Idempotent: a grant that
    /// was imported before stays as it is, even if it was withdrawn here.
    ///
    /// - Parameters:
    ///   - other: another id of the customer.
    ///   - isTrial: whether to only validate the row, and record nothing.
    package func record(
        grant: ImportedGrant, of id: CustomerID, also other: CustomerID? = nil, app appID: AppID,
        in environment: Environment, isTrial: Bool = false
    ) async throws(EngineFailure) -> ImportOutcome {
        let (app, _) = try context.app(appID)
        do throws(EngineFailure) {
            try id.requireValid()
            try other?.requireValid()
        } catch { return try Self.outcome(of: error) }
        let now = context.now()
        let ids = [id] + (other.map { [$0] } ?? [])
        if isTrial {
            return try await context.read { tx in
                try ImportDecisions(tx).obstacle(to: grant, of: ids, in: app, environment, at: now)
                    ?? .recorded
            }
        }
        let (outcome, alias) = try await context.transaction {
            tx -> (ImportOutcome, CustomerID?) in
            let decisions = ImportDecisions(tx)
            let outcome = try decisions.record(grant, of: ids, in: app, environment, at: now)
            return (outcome, try decisions.alias(other, in: appID))
        }
        guard outcome == .recorded else { return outcome }
        return try await join(alias, to: id, app: appID, environment)
    }

    /// Makes another id of a row an id of the row's customer, unless one of them was erased
    /// meanwhile.
    func join(
        _ alias: CustomerID?, to id: CustomerID, app: AppID, _ environment: Environment
    ) async throws(EngineFailure) -> ImportOutcome {
        guard let alias, alias != id else { return .recorded }
        do throws(EngineFailure) {
            _ = try await customers.alias(
                alias, to: id, app: app, environment: environment,
                unlessSignedIn: alias.isOfRevenueCatDevice, unlessErased: true)
            return .recorded
        } catch {
            // Somebody has signed in on the device, or was erased, since the row was recorded.
            if case .aliasJoinsTwoPeople = error { return .recorded }
            return try Self.outcome(of: error)
        }
    }
}
