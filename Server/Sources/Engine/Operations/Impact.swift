import Ledger
import Storage

/// The changes of customers' entitlements that a new configuration of an app would cause now.
package struct Impact: Hashable, Sendable {
    package var customers = 0
    /// The number of entitlements that customers would lose, over all customers; ``firstLosses``
    /// are the first of these losses.
    package var lost = 0
    package var firstLosses: [Loss] = []
    /// The number of entitlements that customers would gain, over all customers.
    package var gained = 0
    /// The losses and gains by entitlement. Contains only entitlements that a customer would lose
    /// or gain.
    package var changes: [Part: Change] = [:]
    /// Whether all customers were examined. False if the time was not sufficient.
    package var isWhole = true

    package static let lossesMax = 20
    /// The maximum number of customers that are named for one entitlement and direction.
    package static let namesMax = 10

    /// One entitlement in one environment.
    package struct Part: Hashable, Sendable, Comparable {
        package var entitlement: EntitlementID
        package var environment: Environment

        package init(entitlement: EntitlementID, environment: Environment) {
            (self.entitlement, self.environment) = (entitlement, environment)
        }

        package static func < (one: Self, other: Self) -> Bool {
            (one.entitlement, one.environment.rawValue)
                < (other.entitlement, other.environment.rawValue)
        }
    }

    /// The number of customers who would lose or gain an entitlement, and the first of these
    /// customers.
    package struct Change: Hashable, Sendable {
        package var losing = 0
        package var gaining = 0
        package var firstLosing: [CustomerID] = []
        package var firstGaining: [CustomerID] = []
    }

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
        for entitlement in has.subtracting(had).sorted() {
            gained += 1
            let part = Part(entitlement: entitlement, environment: before.environment)
            changes[part, default: Change()].gain(before.id)
        }
        for entitlement in had.subtracting(has).sorted() {
            lost += 1
            let part = Part(entitlement: entitlement, environment: before.environment)
            changes[part, default: Change()].lose(before.id)
            guard firstLosses.count < Self.lossesMax else { continue }
            firstLosses.append(
                Loss(
                    customer: before.id, environment: before.environment, entitlement: entitlement))
        }
    }
}

extension Impact.Change {
    fileprivate mutating func lose(_ id: CustomerID) {
        losing += 1
        if firstLosing.count < Impact.namesMax { firstLosing.append(id) }
    }

    fileprivate mutating func gain(_ id: CustomerID) {
        gaining += 1
        if firstGaining.count < Impact.namesMax { firstGaining.append(id) }
    }
}

extension MaintenanceService {
    /// The number of customers examined in one read transaction.
    private static let impactBatch = 500

    /// Compares the entitlements of each customer of an app under the current settings with the
    /// entitlements under other settings. Writes nothing.
    ///
    /// - Parameter limit: the time after which to stop. At least one batch of customers is
    ///   examined. Nil examines all customers.
    /// - Parameter progress: called with the number of customers examined so far.
    package func impact(
        of settings: AppSettings, within limit: Duration? = nil,
        progress: (Int) -> Void = { _ in }
    ) async throws(EngineFailure) -> Impact {
        let (app, _) = try context.app(settings.id)
        let now = context.now()
        let end = limit.map { ContinuousClock.now + $0 }
        var impact = Impact()
        var last: CustomerID?
        while true {
            let start = last
            let states = try await context.read { tx in
                try tx.customers.all(of: app.id, after: start, limit: Self.impactBatch).flatMap {
                    id in
                    try Environment.allCases.map { environment in
                        (
                            try CustomerReader(tx).state(
                                of: id, in: app, environment: environment, at: now),
                            try CustomerReader(tx).state(
                                of: id, in: settings, environment: environment, at: now)
                        )
                    }
                }
            }
            guard let latest = states.last else { return impact }
            for (before, after) in states { impact.add(before, after) }
            impact.customers += states.count / Environment.allCases.count
            progress(impact.customers)
            last = latest.0.id
            if let end, ContinuousClock.now >= end {
                impact.isWhole = states.count < Self.impactBatch * Environment.allCases.count
                return impact
            }
        }
    }
}

extension CustomerState {
    fileprivate var open: Set<EntitlementID> {
        Set(entitlements.filter(\.value.isOpen).keys)
    }
}
