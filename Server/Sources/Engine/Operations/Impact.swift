import Ledger
import Storage

/// What a change of an app's configuration would change for its customers now.
package struct Impact: Hashable, Sendable {
    package var customers = 0
    /// How many entitlements would be lost, over all customers, and the first of these losses.
    package var lost = 0
    package var firstLosses: [Loss] = []
    /// How many entitlements would be gained.
    package var gained = 0

    package static let lossesMax = 20

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
        gained += has.subtracting(had).count
        for entitlement in had.subtracting(has).sorted() {
            lost += 1
            guard firstLosses.count < Self.lossesMax else { continue }
            firstLosses.append(
                Loss(
                    customer: before.id, environment: before.environment, entitlement: entitlement))
        }
    }
}

extension Engine {
    /// The number of customers examined in one read transaction.
    private static let impactBatch = 500

    /// Compares what each customer of an app has under the current settings with what they would
    /// have under others. Nothing is written.
    ///
    /// - Parameter progress: called with the number of customers examined so far.
    package func impact(
        of settings: AppSettings, progress: (Int) -> Void = { _ in }
    ) async throws(EngineFailure) -> Impact {
        let (app, _) = try app(settings.id)
        let now = now()
        var impact = Impact()
        var last: CustomerID?
        while true {
            let start = last
            let states = try await read { tx in
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
