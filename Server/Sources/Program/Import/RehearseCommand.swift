import AppStoreFormats
import ArgumentParser
import AsyncHTTPClient
import Engine
import Foundation
import Ledger
import OutgoingHTTP
import Rehearsal
import RevenueCatClient
import Synchronization

/// Compares this server with RevenueCat, customer by customer, before the move.
struct RehearseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Compare every customer with RevenueCat, before you move away from it.",
        discussion: """
            Changes nothing about customers, on either side. Each difference has a cause. Writes a \
            report of all differences, and a summary that the server signs, and stores both for \
            the dashboard. Ends with 1 if any difference is unexplained. docs/rehearsal.md \
            describes the causes.
            """)

    @OptionGroup var revenueCat: RevenueCatOptions
    @Option(help: "The file for the report.") var report = "rehearsal.csv"
    @Option(help: "The maximum age of a document that RevenueCat may not have yet.")
    var lateMinutes = Int(RehearsalRules.latenessDefault.components.seconds / 60)
    @Option(help: "The maximum difference between the ends of access in the two systems.")
    var toleranceSeconds = Int(RehearsalRules.toleranceDefault.components.seconds)
    @Option(help: "The pause before customers with differences are compared again; 0 for never.")
    var secondLookSeconds = 120
    @Flag(name: .customLong("no-record"), help: "Do not store the result for the dashboard.")
    var isUnrecorded = false
    @Option(help: "Check a signed summary instead, and print it.") var verify: String?
    @Option(help: "The app, if there are several.") var app: String?
    @Option(help: "production or sandbox.") var environment = Ledger.Environment.production
    @OptionGroup var options: DatabaseOptions

    func validate() throws {
        let limits = [
            ("--late-minutes", lateMinutes, 0...1440),
            ("--tolerance-seconds", toleranceSeconds, 0...3600),
            ("--second-look-seconds", secondLookSeconds, 0...86_400),
        ]
        for (name, value, range) in limits where !range.contains(value) {
            throw ValidationError(
                "\(name) must be between \(range.lowerBound) and \(range.upperBound).")
        }
    }

    func run() async throws {
        try await Outcome.reportingFailures {
            if let verify { return try await printVerified(verify) }
            let access = try revenueCat.access()
            let ids = try revenueCat.moreIDs()
            let report = try RehearsalReport(at: report)
            let assembly = try await options.assembly(for: .inspecting)
            defer { assembly.database.close() }
            try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) { http in
                try await rehearse(
                    assembly, access.client(over: http), access.project, ids, report)
            }
        }
    }

    private func rehearse(
        _ assembly: Assembly, _ client: RevenueCatClient, _ project: String, _ ids: [CustomerID],
        _ report: RehearsalReport
    ) async throws {
        let app = try assembly.app(named: app)
        let engine = assembly.engine
        // Signing is tried first, because otherwise hours of comparing would be lost if the result
        // could not be signed.
        _ = try await Self.signed([:], engine, app)
        let progress = RehearsalProgress()
        var run = RehearsalRun(engine: engine, app: app, environment: environment, client: client)
        run.rules = RehearsalRules(
            lateness: .seconds(lateMinutes * 60), tolerance: .seconds(toleranceSeconds))
        run.secondLookAfter = secondLookSeconds > 0 ? .seconds(secondLookSeconds) : nil
        run.moreIDs = ids
        run.progress = progress.report
        let result: RehearsalResult
        do { result = try await run.run() } catch let failure as RevenueCatClientFailure {
            throw StartFailure("\(failure)", remedy: failure.remedy)
        } catch let failure as EngineFailure {
            throw StartFailure(
                "The rehearsal stopped: \(failure).",
                remedy: "Run the same command again: it has changed nothing.")
        }
        let signed = try await report.write(result, project: project) {
            try await Self.signed($0, engine, app)
        }
        for line in RehearsalText.lines(of: result.claims(project: project, report: "")) {
            print(line)
        }
        print("report: \(report.csv.path), signed summary: \(report.summary.path)")
        if !isUnrecorded { await record(result, signed: signed) }
        if result.summary.unexplained > 0 || !result.isComplete { throw ExitCode(1) }
    }

    /// Stores the result for the dashboard. A failure is only reported: the files are complete.
    private func record(_ result: RehearsalResult, signed: String) async {
        do {
            let assembly = try await options.assembly(for: .modifying)
            defer { assembly.database.close() }
            try await assembly.engine.rehearsals.record(
                signed, begunAt: result.begin, endedAt: result.end, result.findings.map(\.stored),
                of: result.app,
                in: result.environment)
            print("The dashboard shows the result at /rehearsal.")
        } catch {
            Outcome.printError("The dashboard does not show the result: \(error)")
        }
    }

    private static func signed(
        _ claims: JSON, _ engine: Engine, _ app: AppID
    ) async throws -> String {
        guard let text = try await engine.rehearsals.sign(claims, of: app) else {
            throw StartFailure(
                "App \(app) has no key for signing yet.",
                remedy: "Start the server and open /.well-known/jwks.json once, which creates it. "
                    + "The app must not have `tokens: false`.")
        }
        return text
    }

    private func printVerified(_ path: String) async throws {
        let assembly = try await options.assembly(for: .inspecting)
        defer { assembly.database.close() }
        let app = try assembly.app(named: app)
        let (lines, isClean) = try await RehearsalReport.verify(path) {
            try await assembly.engine.rehearsals.verify($0, of: app)
        }
        for line in lines { print(line) }
        guard isClean else { throw ExitCode(1) }
    }
}

/// Prints the progress to standard error, at most once in five seconds.
private final class RehearsalProgress: Sendable {
    private static let pause = Duration.seconds(5)
    private let last = Mutex<ContinuousClock.Instant?>(nil)

    @Sendable func report(_ customers: Int, _ differences: Int) {
        let now = ContinuousClock.now
        let isDue = last.withLock { last in
            if let known = last, now - known < Self.pause { return false }
            last = now
            return true
        }
        guard isDue else { return }
        Outcome.printError(
            "compared so far: \(customers.counted("customer")), "
                + "\(differences.counted("difference"))")
    }
}
