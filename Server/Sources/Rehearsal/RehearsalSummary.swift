import Ledger

/// The counts of a rehearsal. The server signs these counts.
package struct RehearsalSummary: Hashable, Sendable {
    /// The number of compared customers. Two ids are counted once if both systems treat them as one
    /// customer.
    package var customers = 0
    /// The number of entitlements that were open in at least one of the systems.
    package var entitlements = 0
    /// The number of differences by cause. A cause that was not found is absent.
    package var causes: [RehearsalCause: Int] = [:]
    /// The number of differences by the effect of the switch.
    package var effects: [RehearsalEffect: Int] = [:]

    package init() {}

    package mutating func add(_ cause: RehearsalCause, _ effect: RehearsalEffect) {
        causes[cause, default: 0] += 1
        effects[effect, default: 0] += 1
    }

    package var differences: Int { causes.values.reduce(0, +) }
    package var unexplained: Int { causes[.unexplained] ?? 0 }

    /// The line by which the operator decides whether to switch:
    /// `0 unexplained of 10000 customers`.
    package var verdict: String {
        "\(unexplained) unexplained of \(customers.counted("customer"))"
    }
}
