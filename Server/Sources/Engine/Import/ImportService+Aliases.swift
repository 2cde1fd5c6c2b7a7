import Ledger
import Storage

/// What an import has done about a vendor's customer.
package struct ImportedCustomer: Hashable, Sendable {
    /// How many ids were added, or would be.
    package var aliasesAdded = 0
    /// How many balances were booked, or would be.
    package var balancesBooked = 0
    /// Why something was left out, and what to do.
    package var problems: [String] = []

    package init(balancesBooked: Int = 0, problems: [String] = []) {
        self.balancesBooked = balancesBooked
        self.problems = problems
    }
}

extension ImportService {
    /// Makes the ids that a vendor counts to one customer ids of one customer here. Ids that belong
    /// to two people here are reported, and never merged. A customer of whom no id is known here
    /// stays unknown: nothing here depends on the ids. Idempotent.
    ///
    /// - Parameter isTrial: whether to only report, and change nothing.
    package func record(
        aliases ids: [CustomerID], app: AppID, in environment: Environment, isTrial: Bool = false
    ) async throws(EngineFailure) -> ImportedCustomer {
        let plan = try await context.read { tx in
            try ImportDecisions(tx).aliasPlan(for: ids, in: app)
        }
        var result = ImportedCustomer(problems: plan.problems)
        guard let target = plan.target, !plan.isUnknown else { return result }
        for alias in plan.missing {
            if !isTrial,
                let problem = try await add(alias, to: target, app: app, environment)
            {
                result.problems.append(problem)
            } else {
                result.aliasesAdded += 1
            }
        }
        return result
    }

    /// Adds an id that belongs to nobody, or to a device without log-in. Returns why not, or nil.
    private func add(
        _ alias: CustomerID, to target: CustomerID, app: AppID, _ environment: Environment
    ) async throws(EngineFailure) -> String? {
        let name = EngineFailure.shortened(alias.rawValue)
        do throws(EngineFailure) {
            _ = try await customers.alias(
                alias, to: target, app: app, environment: environment, unlessSignedIn: true,
                unlessErased: true)
            return nil
        } catch {
            if case .aliasJoinsTwoPeople = error {
                return "\(name) became an id of another customer, or was erased, in the meantime"
            }
            guard case .unusable(let reason) = try Self.outcome(of: error) else { throw error }
            return "\(name) was not added: \(reason)"
        }
    }
}

/// Which ids of a vendor's customer become ids of which customer here.
struct AliasPlan {
    /// The id of the customer here. Nil if there is none, or if it is not clear who it is.
    var target: CustomerID?
    /// The customer here. Nil if the target is unknown, and none of the other ids is known.
    var customer: StoredCustomer?
    /// The ids to add to the target.
    var missing: [CustomerID] = []
    var problems: [String] = []

    /// Whether nothing is stored here about any of the ids.
    var isUnknown = true
}

extension ImportDecisions {
    /// Decides which of the ids of one customer at a vendor become ids of which customer here. The
    /// person who has one of them is the customer; without one, the first id that the app itself
    /// has made.
    func aliasPlan(for ids: [CustomerID], in app: AppID) throws -> AliasPlan {
        var plan = AliasPlan()
        var known: [(id: CustomerID, customer: StoredCustomer?)] = []
        var checked: Set<CustomerID> = []
        for id in ids where !known.contains(where: { $0.id == id }) {
            do throws(EngineFailure) { try id.requireValid() } catch {
                plan.problems.append("\(EngineFailure.shortened(id.rawValue)): \(error)")
                continue
            }
            let customer = try tx.customers.find(known: id, in: app)
            // A person who came back after the erasure is a new customer.
            for one in [id] + (customer?.ids ?? []) where checked.insert(one).inserted {
                guard try tx.erasedIDs.contains(one.hash, in: app) else { continue }
                plan.problems = [
                    "the customer was erased here, so nothing is imported about them"
                ]
                return plan
            }
            known.append((id, customer))
        }
        let people = known.filter { $0.customer?.isAnonymous == false }
        plan.isUnknown = known.allSatisfy { $0.customer == nil }
        if let first = people.first,
            let other = people.first(where: { $0.customer?.customer != first.customer?.customer })
        {
            plan.problems.append(
                "\(EngineFailure.shortened(first.id.rawValue)) and "
                    + "\(EngineFailure.shortened(other.id.rawValue)) are one customer there and "
                    + "two here, so nothing was merged; if they are one person, add the second id "
                    + "to "
                    + "the first with a secret key (POST …/aliases)")
            return plan
        }
        let target =
            people.first ?? known.first { !$0.id.isAnonymous } ?? known.first { $0.customer != nil }
            ?? known.first
        guard let target else { return plan }
        plan.target = target.id
        plan.customer = target.customer
        for (id, customer) in known where id != target.id {
            if let customer, customer.customer == target.customer?.customer { continue }
            plan.missing.append(id)
        }
        return plan
    }
}
