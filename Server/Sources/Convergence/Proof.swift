import Simulator
import Synchronization

/// Many trials, run one after another by each of several workers.
package struct Proof: Sendable {
    package let fixture: TrialFixture
    package let seeds: ClosedRange<UInt64>
    package let workers: Int
    package let sabotage: SabotageKind?
    /// The changes made to each plan before it is played.
    package let overrides: PlanOverrides

    /// The maximum number of workers.
    private static let workersMax = 64
    /// The number of violations after which the remaining trials are skipped.
    private static let violationsMax = 5
    /// The maximum time between two reports of progress.
    private static let progressInterval = Duration.seconds(10)

    package init(
        _ house: TrialFixture, seeds: ClosedRange<UInt64>, workers: Int,
        sabotage: SabotageKind? = nil,
        narrowing: PlanOverrides = PlanOverrides()
    ) {
        self.fixture = house
        self.seeds = seeds
        self.workers = min(max(1, workers), Self.workersMax)
        self.sabotage = sabotage
        self.overrides = narrowing
    }

    /// Changes to plans that options request. Properties that are nil leave the plan as it was
    /// derived from the seed.
    package struct PlanOverrides: Hashable, Sendable {
        package var clientEra: ClientEra?
        package var families: Set<FaultFamily>?
        package var accounts: Int?
        package var days: Int?
        package var acts: Int?
        /// The number of the lifecycle row that is scripted; 0 for none.
        package var turn: Int?

        package init(
            speech: ClientEra? = nil, families: Set<FaultFamily>? = nil, accounts: Int? = nil,
            days: Int? = nil, acts: Int? = nil, turn: Int? = nil
        ) {
            self.clientEra = speech
            self.families = families
            self.accounts = accounts
            self.days = days
            self.acts = acts
            self.turn = turn
        }

        package func plan(of seed: UInt64) -> Plan {
            var plan = Plan(seed: seed)
            plan.clientEra = clientEra ?? plan.clientEra
            plan.families = families ?? plan.families
            if let turn { plan.scriptedRow = LifecycleRow(rawValue: turn) }
            let least = plan.scriptedRow == nil ? 1 : 0
            plan.accounts = min(max(least, accounts ?? plan.accounts), Plan.accountsMax)
            plan.days = min(max(1, days ?? plan.days), Plan.daysMax)
            plan.acts = min(max(0, acts ?? plan.acts), Plan.actsMax)
            return plan
        }
    }

    /// The combined result of all trials.
    package struct Outcome: Sendable {
        package var figures = Statistics()
        package var tally = Tally()
        /// The trials with a violation, ordered by seed.
        package var violations: [TrialReport] = []
        /// The seeds that are being played, and when each started.
        package var underWay: [UInt64: ContinuousClock.Instant] = [:]

        mutating func add(_ report: TrialReport) {
            figures.add(report.statistics)
            tally.add(report.tally)
            guard report.violation != nil else { return }
            violations.append(report)
            violations.sort { $0.plan.seed < $1.plan.seed }
        }
    }

    /// Plays all seeds, smallest first. Stops early after ``violationsMax`` violations.
    ///
    /// - Parameters:
    ///   - stopsAtFirst: whether to stop after the first violation.
    ///   - progress: called after each trial, and periodically.
    /// - Throws: if a trial cannot be set up.
    package func run(
        stopsAtFirst: Bool = false, progress: @escaping @Sendable (Outcome) -> Void = { _ in }
    ) async throws -> Outcome {
        let most = stopsAtFirst ? 1 : Self.violationsMax
        let queue = SeedQueue(seeds, most: most)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 0..<workers {
                tasks.addTask { [self] in
                    while let seed = queue.next() {
                        let report = try await Trial.play(
                            overrides.plan(of: seed), in: fixture, with: sabotage)
                        progress(queue.add(report))
                    }
                }
            }
            tasks.addTask {
                while (try? await Task.sleep(for: Self.progressInterval)) != nil {
                    progress(queue.outcome)
                }
            }
            for _ in 0..<workers { try await tasks.next() }
            tasks.cancelAll()
        }
        return queue.outcome
    }
}

/// Gives seeds to workers and collects their results.
private final class SeedQueue: Sendable {
    private struct State {
        var next: UInt64
        var outcome = Proof.Outcome()
    }

    private let state: Mutex<State>
    private let last: UInt64
    private let most: Int

    init(_ seeds: ClosedRange<UInt64>, most: Int) {
        state = Mutex(State(next: seeds.lowerBound))
        last = seeds.upperBound
        self.most = most
    }

    var outcome: Proof.Outcome { state.withLock(\.outcome) }

    func next() -> UInt64? {
        state.withLock { state in
            guard state.next <= last, state.outcome.violations.count < most else { return nil }
            defer { state.next += 1 }
            state.outcome.underWay[state.next] = .now
            return state.next
        }
    }

    func add(_ report: TrialReport) -> Proof.Outcome {
        state.withLock { state in
            state.outcome.underWay[report.plan.seed] = nil
            state.outcome.add(report)
            return state.outcome
        }
    }
}

// MARK: - Shrinking

extension Proof {
    /// The maximum number of trials played to shrink a failure.
    private static let attemptsMax = 150

    /// Returns the report of the smallest plan found that breaks the same promise. Smaller plans
    /// have fewer faults, customers, days and acts.
    package func shrunk(_ report: TrialReport) async throws -> TrialReport {
        var smallest = report
        var attempts = 0
        var isSmaller = true
        while isSmaller {
            isSmaller = false
            for plan in Self.smaller(than: smallest.plan) where attempts < Self.attemptsMax {
                attempts += 1
                let next = try await Trial.play(plan, in: fixture, with: sabotage)
                guard next.violation?.oracle == report.violation?.oracle else { continue }
                smallest = next
                isSmaller = true
                break
            }
        }
        return smallest
    }

    /// Plans that are each a little smaller, the largest reductions first.
    private static func smaller(than plan: Plan) -> [Plan] {
        var plans: [Plan] = []
        func add(_ change: (inout Plan) -> Void) {
            var smaller = plan
            change(&smaller)
            if smaller != plan { plans.append(smaller) }
        }
        let families = plan.families.sorted()
        add { $0.clientEra = .modern }
        add { $0.families = [] }
        add { $0.families = Set(families.prefix(families.count / 2)) }
        add { $0.families = Set(families.suffix(families.count / 2)) }
        if plan.scriptedRow != nil { add { $0.accounts = 0 } }
        if plan.accounts > 0 { add { $0.scriptedRow = nil } }
        add { $0.accounts = min(1, $0.accounts) }
        add { $0.acts = 0 }
        add { $0.days = max(1, plan.days / 2) }
        for family in families { add { $0.families.remove(family) } }
        add { $0.acts = plan.acts / 2 }
        add { $0.acts = max(0, plan.acts - 1) }
        add { $0.accounts = max(plan.scriptedRow == nil ? 1 : 0, plan.accounts - 1) }
        add { $0.days = max(1, plan.days * 3 / 4) }
        add { $0.days = max(1, plan.days - 1) }
        return plans
    }
}
