import Simulator

/// The parameters of one trial: derived from its seed, and reduced by options or by shrinking.
package struct Plan: Hashable, Sendable {
    package let seed: UInt64
    package var clientEra: ClientEra
    package var families: Set<FaultFamily>
    /// The number of random customers, besides the scripted one.
    package var accounts: Int
    /// The virtual days during which faults occur.
    package var days: Int
    /// The number of changes made to subscriptions, in addition to the changes that customers make
    /// by themselves.
    package var acts: Int
    /// The lifecycle row that one additional customer covers with a script.
    package var scriptedRow: LifecycleRow?

    package static let accountsMax = 1_000
    package static let daysMax = 400
    package static let actsMax = 1_000

    /// The odds that a trial has no faults.
    private static let calmOdds = 0.08

    package init(seed: UInt64) {
        self.seed = seed
        clientEra = Self.clientEra(of: seed)
        var lots = TrialRandom(seed: seed, part: "plan")
        accounts = lots.choice(1, 1, 2, 2, 3)
        days = lots.choice(15, 20, 30, 45, 60, 60, 150)
        acts = lots.number(in: 0...8)
        let isCalm = lots.happens(Self.calmOdds)
        let odds: Double = lots.choice(0.15, 0.35, 0.35, 0.6)
        families = []
        for family in FaultFamily.allCases where lots.happens(odds) && !isCalm {
            families.insert(family)
        }
        if families.contains(.races) { families.insert(.secondServer) }
        // About every second seed has a scripted customer. No row is scripted more often than
        // another.
        let place = Int(seed % UInt64(2 * ScriptedCase.rows.count))
        guard place < ScriptedCase.rows.count else { return }
        addScript(to: ScriptedCase.rows[place])
    }

    /// Adds a scripted customer for a row, and changes the plan as the script requires.
    private mutating func addScript(to row: LifecycleRow) {
        scriptedRow = row
        accounts -= 1
        guard let calling = ScriptedCase.of(row) else { return }
        // Device quirks are quirks of StoreKit 2. Receipts do not show these quirks.
        if calling.families.contains(.deviceQuirks) { clientEra = .modern }
        families.formUnion(calling.families)
        days = max(days, calling.days)
    }

    func has(_ family: FaultFamily) -> Bool { families.contains(family) }

    /// Whether subscriptions are sold in seats. Receipts have no seats, so an app of an older era
    /// does not sell them.
    var sellsSeats: Bool { has(.groups) && clientEra == .modern }

    func random(_ part: String) -> TrialRandom { TrialRandom(seed: seed, part: part) }

    /// The command line options that play this plan again.
    package var options: String {
        let drawn = Plan(seed: seed)
        var options = ["--seeds \(seed)..\(seed)"]
        if clientEra != drawn.clientEra { options.append("--speech \(clientEra.rawValue)") }
        if families != drawn.families {
            let names = families.sorted().map(\.rawValue).joined(separator: ",")
            options.append("--faults \(names.isEmpty ? "none" : names)")
        }
        if accounts != drawn.accounts { options.append("--accounts \(accounts)") }
        if days != drawn.days { options.append("--days \(days)") }
        if acts != drawn.acts { options.append("--acts \(acts)") }
        if scriptedRow != drawn.scriptedRow {
            options.append("--turn \(scriptedRow?.rawValue ?? 0)")
        }
        return options.joined(separator: " ")
    }
}
