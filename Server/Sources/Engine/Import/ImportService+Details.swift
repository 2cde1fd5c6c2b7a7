import Ledger
import Storage

extension ImportService {
    /// Records the details of an export: attributes of a customer, and the place of a sale. Does
    /// not record the purchase itself. Stored values that are newer stay. Idempotent.
    ///
    /// - Parameters:
    ///   - id: the row's customer. Nil if the row names no customer.
    ///   - other: another id of the customer.
    ///   - purchase: the row's purchase, which must be recorded before. Nil for a grant.
    ///   - isTrial: whether to only check the values, and record nothing.
    /// - Returns: `unusable` if an attribute breaks a rule; the other attributes are recorded.
    package func record(
        _ details: ImportedDetails, of id: CustomerID?, also other: CustomerID? = nil,
        _ purchase: PurchaseID?, app: AppID, isTrial: Bool = false
    ) async throws(EngineFailure) -> ImportOutcome {
        guard !details.isEmpty else { return .recorded }
        let now = context.now()
        let ids = [id, other].compactMap { $0 }
        // Most rows repeat the values of an earlier row of the same customer, and need no write.
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

    /// Records a grant of a vendor, and makes the row's ids one customer. Idempotent: if a grant
    /// was imported before, it stays as it is, even if it was withdrawn at Perennial.
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

    /// Adds another id of a row to the row's customer, unless one of the two ids was erased
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
            // Since the row was recorded, somebody has signed in on the device, or a person was
            // erased.
            if case .aliasJoinsTwoPeople = error { return .recorded }
            return try Self.outcome(of: error)
        }
    }
}
