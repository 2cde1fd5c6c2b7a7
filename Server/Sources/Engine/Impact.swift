import Ledger
import Storage

/// What a change of an app's configuration would do to its customers, now.
package struct Impact: Hashable, Sendable {
    package var customers = 0
    /// Entitlements that would be shut, of all customers together, and the first of them.
    package var shut = 0
    package var firstShut: [Loss] = []
    /// Entitlements that would be open and are not.
    package var opened = 0

    package static let firstMax = 20

    package init(customers: Int = 0) { self.customers = customers }

    package struct Loss: Hashable, Sendable {
        package var customer: CustomerID
        package var environment: Environment
        package var entitlement: EntitlementID

        package init(
            customer: CustomerID, environment: Environment, entitlement: EntitlementID
        ) {
            self.customer = customer
            self.environment = environment
            self.entitlement = entitlement
        }
    }

    fileprivate mutating func add(_ before: CustomerState, _ after: CustomerState) {
        let (had, has) = (before.open, after.open)
        opened += has.subtracting(had).count
        for entitlement in had.subtracting(has).sorted() {
            shut += 1
            guard firstShut.count < Self.firstMax else { continue }
            firstShut.append(
                Loss(
                    customer: before.id, environment: before.environment, entitlement: entitlement))
        }
    }
}

extension Engine {
    /// Customers that are looked at in one reading.
    private static let impactBatch = 500

    /// What each customer of an app has by its settings, and would have by others. Nothing is
    /// written.
    ///
    /// - Parameter progress: told how many were looked at.
    package func impact(
        of settings: AppSettings, progress: (Int) -> Void = { _ in }
    ) async throws(EngineFailure) -> Impact {
        let (app, _) = try app(settings.id)
        let now = now()
        var impact = Impact()
        var last: CustomerID?
        while true {
            let start = last
            let states = try await reading { tx in
                try tx.customers(of: app.id, after: start, limit: Self.impactBatch).flatMap { id in
                    try Environment.allCases.map { environment in
                        (
                            try tx.state(of: id, in: app, environment: environment, at: now),
                            try tx.state(of: id, in: settings, environment: environment, at: now)
                        )
                    }
                }
            }
            guard let end = states.last else { return impact }
            for (before, after) in states { impact.add(before, after) }
            impact.customers += states.count / Environment.allCases.count
            progress(impact.customers)
            last = end.0.id
        }
    }
}

extension CustomerState {
    fileprivate var open: Set<EntitlementID> {
        Set(entitlements.filter(\.value.isOpen).keys)
    }
}
