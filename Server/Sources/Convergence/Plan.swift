import Simulator

/// What one trial is to be: drawn from its seed, and made smaller by hand or by shrinking.
package struct Plan: Hashable, Sendable {
    package let seed: UInt64
    package var speech: Speech
    package var families: Set<FaultFamily>
    /// Customers, beside the one who is called.
    package var accounts: Int
    /// Virtual days in which faults happen.
    package var days: Int
    /// Things done to subscriptions beside what the customers do of their own accord.
    package var acts: Int
    /// The turn that one more customer is there for.
    package var turn: LifecycleRow?

    package static let accountsMax = 1_000
    package static let daysMax = 400
    package static let actsMax = 1_000

    /// Odds that nothing goes wrong.
    private static let isCalm = 0.08

    package init(seed: UInt64) {
        self.seed = seed
        speech = Self.speech(of: seed)
        var lots = Lots(seed: seed, part: "plan")
        accounts = lots.choice(1, 1, 2, 2, 3)
        days = lots.choice(15, 20, 30, 45, 60, 60, 150)
        acts = lots.number(in: 0...8)
        let isCalm = lots.happens(Self.isCalm)
        let odds: Double = lots.choice(0.15, 0.35, 0.35, 0.6)
        families = []
        for family in FaultFamily.allCases where lots.happens(odds) && !isCalm {
            families.insert(family)
        }
        if families.contains(.races) { families.insert(.secondServer) }
        // Of every second seed or so one customer is called, each turn as often as the others.
        let place = Int(seed % UInt64(2 * Calling.rows.count))
        guard place < Calling.rows.count else { return }
        call(to: Calling.rows[place])
    }

    /// Lets one customer be there for a turn, and all be so that it can be taken.
    private mutating func call(to row: LifecycleRow) {
        turn = row
        accounts -= 1
        guard let calling = Calling.of(row) else { return }
        // What devices are known to show otherwise is StoreKit 2's; receipts show none of it.
        if calling.families.contains(.oddDevices) { speech = .modern }
        families.formUnion(calling.families)
        days = max(days, calling.days)
    }

    func has(_ family: FaultFamily) -> Bool { families.contains(family) }

    func lots(_ part: String) -> Lots { Lots(seed: seed, part: part) }

    /// The options of the command that plays it again.
    package var options: String {
        let drawn = Plan(seed: seed)
        var options = ["--seeds \(seed)..\(seed)"]
        if speech != drawn.speech { options.append("--speech \(speech.rawValue)") }
        if families != drawn.families {
            let names = families.sorted().map(\.rawValue).joined(separator: ",")
            options.append("--faults \(names.isEmpty ? "none" : names)")
        }
        if accounts != drawn.accounts { options.append("--accounts \(accounts)") }
        if days != drawn.days { options.append("--days \(days)") }
        if acts != drawn.acts { options.append("--acts \(acts)") }
        if turn != drawn.turn { options.append("--turn \(turn?.rawValue ?? 0)") }
        return options.joined(separator: " ")
    }
}
