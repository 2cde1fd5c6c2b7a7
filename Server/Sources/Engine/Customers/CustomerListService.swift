import Ledger
import Storage

/// Lists the customers of an app, and the ids of one customer, for other systems that copy them.
package struct CustomerListService: Sendable {
    let context: Context

    /// The ids of an app's next customers after a given id, in byte order. Erased customers are
    /// left out.
    package func customers(
        of appID: AppID, after: CustomerID?, limit: Int
    ) async throws(EngineFailure) -> [CustomerID] {
        _ = try context.app(appID)
        return try await context.read { tx in
            try tx.customers.identified(of: appID, after: after, limit: limit)
        }
    }

    /// All ids of a customer, oldest first. Each has the time since which it belongs to the
    /// customer. Empty for an unknown id.
    package func ids(
        of id: CustomerID, app appID: AppID
    ) async throws(EngineFailure) -> [(id: CustomerID, since: Instant)] {
        _ = try context.app(appID)
        return try await context.read { tx in
            guard let known = try tx.customers.find(known: id, in: appID) else { return [] }
            return try tx.customers.ids(of: known.customer, in: appID)
        }
    }
}
