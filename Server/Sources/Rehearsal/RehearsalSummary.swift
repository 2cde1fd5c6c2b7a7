import Ledger

/// The counts of a rehearsal. This is what the server signs.
package struct RehearsalSummary: Hashable, Sendable {
    /// How many customers were compared. Two ids that both systems count to one customer are one.
    package var customers = 0
    /// How many entitlements were open in at least one of the systems.
    package var entitlements = 0
    /// The number of differences by cause. A cause that was not found is absent.
    package var causes: [RehearsalCause: Int] = [:]
    /// The number of differences by what the switch changes.
    package var effects: [RehearsalEffect: Int] = [:]

    package init() {}

    package mutating func add(_ cause: RehearsalCause, _ effect: RehearsalEffect) {
        causes[cause, default: 0] += 1
        effects[effect, default: 0] += 1
    }

    package var differences: Int { causes.values.reduce(0, +) }
    package var unexplained: Int { causes[.unexplained] ?? 0 }

    /// The line on which a decision to switch is based: `0 unexplained of 10000 customers`.
    package var verdict: String {
        "\(unexplained) unexplained of \(customers.counted("customer"))"
    }
}
