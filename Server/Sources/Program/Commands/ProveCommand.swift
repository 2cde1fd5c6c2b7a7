import ArgumentParser
import Convergence
import Foundation
import Synchronization

/// Plays random lives with faults against the server, one life for each seed, and compares every
/// response with the simulator's ground truth.
struct ProveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prove",
        abstract: "Play random lives with faults and compare every response with the truth.")

    private static let seedsDefault: ClosedRange<UInt64> = 1...500

    @Option(help: "The seeds, for example 1..500.", transform: Self.range)
    var seeds = Self.seedsDefault
    @Option(help: "Parallel trials. Default: one per core.")
    var workers = ProcessInfo.processInfo.activeProcessorCount
    @Option(help: "What all clients use: modern, legacy, or mixed. Default: from the seed.")
    var speech: String?
    @Option(help: "Fault names with commas, or none. Default: from the seed.")
    var faults: String?
    @Option(help: "Customers per trial. Default: from the seed.") var accounts: Int?
    @Option(help: "Virtual days with faults. Default: from the seed.") var days: Int?
    @Option(
        help: """
            Changes to subscriptions, besides those that customers make. Default: from the seed.
            """)
    var acts: Int?
    @Option(
        help: """
            The row of docs/lifecycle.md that one more customer plays; 0 for none. Default: from \
            the seed.
            """)
    var turn: Int?
    @Option(help: "A bug to plant, by name. The proof must find it.") var plant: String?
    @Option(help: "Instead of trials, play long outages with this many customers for each seed.")
    var crowd: Int?
    @Flag(help: "Do not shrink a failed story.") var noShrinking = false
    @Flag(help: "Instead of trials, compare many customers' money with the simulator's records.")
    var money = false
    @Option(help: "With --money: the number of customers.") var customers = 1000
    @Option(help: "With --money: the number of months.") var months = 24

    func run() async throws {
        try await Outcome.reportingFailures {
            if let crowd { return try await prove(crowd) }
            if money { return try await proveMoney() }
            let bug: SabotageKind? = try plant.map {
                try Self.named($0, "There is no bug “\($0)”.")
            }
            let narrowing = try narrowing()
            let proof = Proof(
                try TrialFixture(), seeds: seeds, workers: workers, sabotage: bug,
                narrowing: narrowing)
            let started = ContinuousClock.now
            let bar = ProgressLine(total: seeds.count)
            let outcome = try await proof.run { bar.update($0) }
            print(ProofText.figures(outcome, in: ContinuousClock.now - started))
            for report in outcome.violations {
                let shown = noShrinking ? report : try await proof.shrunk(report)
                print(ProofText.story(of: report, shrunk: shown, plant: plant))
            }
            try conclude(outcome, narrowing)
        }
    }

    /// The parameters of a trial that replace the parameters derived from its seed.
    private func narrowing() throws -> Proof.PlanOverrides {
        let chosen: ClientEra? = try speech.map {
            try Self.named($0, "There is no client era “\($0)”.")
        }
        return Proof.PlanOverrides(
            speech: chosen, families: try families(), accounts: accounts, days: days, acts: acts,
            turn: turn)
    }

    /// For each seed, plays every kind of outage.
    private func prove(_ accounts: Int) async throws {
        guard (1...PopulationTrial.accountsMax).contains(accounts) else {
            throw StartFailure(
                "--crowd is \(accounts).", remedy: "Choose 1 to \(PopulationTrial.accountsMax).")
        }
        let house = try TrialFixture()
        var broken = 0
        // These worlds are large, so only one is played unless more seeds are requested.
        for seed in seeds == Self.seedsDefault ? 1...1 : seeds {
            for trouble in PopulationTrial.Disruption.allCases {
                let started = ContinuousClock.now
                let report = try await PopulationTrial.play(
                    accounts, trouble, seed: seed, days: days ?? 90, in: house)
                print(ProofText.crowd(report, seed: seed, in: ContinuousClock.now - started))
                broken += report.violation == nil ? 0 : 1
            }
        }
        guard broken == 0 else {
            throw StartFailure(
                "\(broken) crowds of customers got wrong responses.",
                remedy: "See the messages above.")
        }
    }

    private func proveMoney() async throws {
        guard (1...MoneyTrial.accountsMax).contains(customers),
            (1...MoneyTrial.monthsMax).contains(months)
        else {
            throw StartFailure(
                "--customers is \(customers), and --months is \(months).",
                remedy: "Choose up to \(MoneyTrial.accountsMax) and \(MoneyTrial.monthsMax).")
        }
        let house = try TrialFixture()
        var broken = 0
        for seed in seeds == Self.seedsDefault ? 1...1 : seeds {
            let started = ContinuousClock.now
            let report = try await MoneyTrial.play(
                customers, months: months, seed: seed, in: house
            ) { line in
                let seconds = (ContinuousClock.now - started).components.seconds
                Outcome.printError("seed \(seed), \(seconds) s: \(line)")
            }
            print(ProofText.money(report, seed: seed, in: ContinuousClock.now - started))
            broken += report.differencesCount
        }
        guard broken == 0 else {
            throw StartFailure("\(broken) numbers differ.", remedy: "See the messages above.")
        }
    }

    private func conclude(_ outcome: Proof.Outcome, _ narrowing: Proof.PlanOverrides) throws {
        let missing = Coverage.missing(from: outcome.tally)
        if !missing.isEmpty {
            print("never reached: \(missing.joined(separator: ", "))")
        }
        guard outcome.violations.isEmpty else {
            throw StartFailure(
                "\(outcome.violations.count) promises were broken.",
                remedy: "Play the shortest story above again and see what differs.")
        }
        // With a planted bug, the run ends at the promise that the bug breaks, so its coverage is
        // incomplete.
        guard seeds.count >= Coverage.fullCoverageSeeds, plant == nil else { return }
        let demanded = Coverage.missing(from: outcome.tally, of: narrowing)
        guard demanded.isEmpty else {
            throw StartFailure(
                "\(demanded.count) cases were never reached: \(demanded.joined(separator: ", ")).",
                remedy: "A proof that does not reach a case says nothing about it.")
        }
    }

    private func families() throws -> Set<FaultFamily>? {
        guard let faults else { return nil }
        guard faults != "none" else { return [] }
        let names = faults.split(separator: ",").map(String.init)
        return try Set<FaultFamily>(
            names.map { try Self.named($0, "There is no fault “\($0)”.") })
    }

    /// Returns the value with a name.
    ///
    /// - Parameter complaint: the message if no value has that name.
    private static func named<Value: RawRepresentable<String> & CaseIterable>(
        _ name: String, _ complaint: String
    ) throws(StartFailure) -> Value {
        guard let value = Value(rawValue: name) else {
            let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw StartFailure(complaint, remedy: "Choose one of \(names).")
        }
        return value
    }

    /// Parses `A..B`, including both ends.
    private static func range(_ text: String) throws -> ClosedRange<UInt64> {
        let ends = text.split(separator: ".", omittingEmptySubsequences: true).map(String.init)
        guard ends.count == 2, let first = UInt64(ends[0]), let last = UInt64(ends[1]),
            first <= last, last < .max
        else { throw ValidationError("“\(text)” is not a range of seeds. Write it as 1..500.") }
        return first...last
    }
}

/// Prints the progress of a proof to standard error at intervals.
private final class ProgressLine: Sendable {
    private static let pause = Duration.seconds(10)
    /// A trial usually takes less than a second. A trial that takes longer than this is reported.
    private static let long = Duration.seconds(30)

    private let total: Int
    private let started = ContinuousClock.now
    private let lastReport = Mutex((at: ContinuousClock.now, breaches: 0))

    init(total: Int) { self.total = total }

    func update(_ outcome: Proof.Outcome) {
        let now = ContinuousClock.now
        let isDue = lastReport.withLock { told in
            let isBroken = outcome.violations.count > told.breaches
            guard isBroken || now - told.at >= Self.pause else { return false }
            told = (now, outcome.violations.count)
            return true
        }
        guard isDue else { return }
        let seconds = (now - started).components.seconds
        Outcome.printError(
            "\(outcome.figures.trials) of \(total) seeds, \(seconds) s,"
                + " \(outcome.violations.count) broken promises"
                + outcome.violations.map { ", seed \($0.plan.seed)" }.joined()
                + outcome.underWay.filter { now - $0.value >= Self.long }.keys.sorted()
                .map { "; seed \($0) takes long" }.joined())
    }
}

/// The texts that a proof prints.
enum ProofText {
    private static let millisecondsPerYear = 31_557_600_000.0

    static func figures(_ outcome: Proof.Outcome, in time: Duration) -> String {
        let figures = outcome.figures
        let seconds = Double(time.components.seconds) + 0.001
        let years = Double(figures.virtualMilliseconds) / millisecondsPerYear
        let ratio = Double(figures.calmQuestions) / Double(max(1, figures.calmPeriods))
        var lines = [
            "seeds                    \(figures.trials) in \(time.components.seconds) s"
                + " (\(rounded(seconds * 1000 / Double(max(1, figures.trials)))) ms each)",
            "virtual years            \(rounded(years))",
            "notifications posted     \(figures.notifications)",
            "documents recorded       \(figures.documents)",
            "events emitted           \(figures.events)",
            "checks of all responses  \(figures.looks)",
            "crashes                  \(figures.crashes)",
            "questions, of purchases  \(figures.questions)",
            "questions a period       \(rounded(ratio)) without faults"
                + " (\(figures.calmQuestions) of \(figures.calmPeriods))",
            "reached:",
        ]
        let names = outcome.tally.counts.keys.sorted {
            $0.localizedStandardCompare($1) == .orderedAscending
        }
        lines += names.map { "  \($0): \(outcome.tally[$0])" }
        return lines.joined(separator: "\n")
    }

    static func crowd(_ report: PopulationTrial.Report, seed: UInt64, in time: Duration) -> String {
        let lines = [
            "seed \(seed), \(report.trouble.rawValue): \(report.trouble.summary)",
            "  customers              \(report.accounts), with \(report.purchases) purchases",
            "  answers, late          \(report.answers), \(report.late)",
            "  held open              \(report.held)",
            "  notifications refused  \(report.refusedNotifications)",
            "  questions              \(report.questions)",
            "  \(time.components.seconds) s; "
                + (report.violation.map { "broken: \($0)" } ?? "no promise was broken"),
        ]
        return (lines + report.explanation.map { "  " + $0 }).joined(separator: "\n")
    }

    static func money(_ report: MoneyTrial.Report, seed: UInt64, in time: Duration) -> String {
        let lines = [
            "seed \(seed): the money of \(report.accounts) customers",
            "  notifications          \(report.notifications), late, doubled and reordered",
            "  in two currencies      \(report.mixed) purchases",
            "  for several seats      \(report.groupCharges) payments",
            "  numbers, in the books  \(report.compared), as it happened and restated: "
                + "\(report.restated) differ between the two",
            "  numbers, in the files  \(report.reconciled) of \(report.files) files, "
                + "\(report.explained) explained",
            "  as known earlier       \(report.moments) reports",
            "  \(time.components.seconds) s; "
                + (report.differencesCount == 0
                    ? "no difference is left" : "\(report.differencesCount) differences"),
        ]
        return (lines + report.differences.map { "  " + $0 }).joined(separator: "\n")
    }

    static func story(of report: TrialReport, shrunk: TrialReport, plant: String?) -> String {
        let bug = plant.map { " --plant \($0)" } ?? ""
        let faults = shrunk.plan.families.sorted().map(\.rawValue).joined(separator: ", ")
        return """

            seed \(report.plan.seed), of \(version): a promise was broken.
              \(report.violation?.description ?? "-")
            the shortest story that still breaks it:
              customers \(shrunk.plan.accounts), days \(shrunk.plan.days), acts \(shrunk.plan.acts)
              speech    \(shrunk.plan.clientEra.rawValue)
              faults    \(faults.isEmpty ? "none" : faults)
              \(shrunk.violation?.description ?? "-")
            how it ends:
            \(indented(shrunk.story.suffix(TrialReport.storyMax)))
            what the server knew then:
            \(indented(shrunk.explanation))
            again:
              perennial prove \(shrunk.plan.options)\(bug)
            """
    }

    private static func indented(_ lines: some Sequence<String>) -> String {
        lines.map { "  " + $0 }.joined(separator: "\n")
    }

    private static func rounded(_ number: Double) -> String {
        String(format: "%.2f", number)
    }

    /// The commit of the sources, if they are in the current directory.
    private static var version: String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["git", "describe", "--always", "--dirty"]
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return "an unknown commit" }
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let commit = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return commit.isEmpty ? "an unknown commit" : "commit \(commit)"
    }
}
