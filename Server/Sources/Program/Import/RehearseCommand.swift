import AppStoreFormats
import ArgumentParser
import AsyncHTTPClient
import Engine
import Foundation
import Ledger
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

    /// The environment variable with the key. The key is not an argument, because lists of
    /// processes show arguments.
    static let keyVariable = "REVENUECAT_SECRET_KEY"
    /// The maximum size of a file with ids, in bytes.
    private static let idsBytesMax = 268_435_456
    /// The maximum size of the file with RevenueCat's key, in bytes.
    private static let keyBytesMax = 4_096

    @Option(help: "RevenueCat's id of the project, such as proj1ab2c3d4.") var project: String?
    @Option(help: "A file with RevenueCat's secret key of version 2 (REVENUECAT_SECRET_KEY).")
    var keyFile: String?
    @Option(help: "The address of RevenueCat.") var from = RevenueCatClient.address
    @Option(help: "The file for the report.") var report = "rehearsal.csv"
    @Option(help: "A file with more ids of customers, one on each line.") var customers: String?
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
            guard let project else {
                throw StartFailure(
                    "--project is missing.",
                    remedy: "Use the id in the address of the project's dashboard at RevenueCat, "
                        + "with `proj` in front.")
            }
            let key = try secretKey()
            let base = try Self.address(from)
            let ids = try moreIDs()
            let report = try RehearsalReport(at: report)
            let assembly = try await options.assembly(for: .inspecting)
            defer { assembly.database.close() }
            try await HTTPClient.withHTTPClient(configuration: .revenueCat) { http in
                let client = RevenueCatClient(
                    project: project, key: key, send: Self.sender(http, base: base),
                    report: { Outcome.printError($0) })
                try await rehearse(assembly, client, project, ids, report)
            }
        }
    }

    /// Sends requests over HTTP, and says in plain words why there is no response.
    private static func sender(
        _ http: HTTPClient, base: String
    ) -> @Sendable (RevenueCatRequest) async throws -> RevenueCatResponse {
        let send = RevenueCatClient.sender(http, base: base)
        return { request in
            do { return try await send(request) } catch let failure as RevenueCatClientFailure {
                throw failure
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                throw RevenueCatClientFailure.unavailable(NetworkTrouble.text(of: error))
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
                signed, endedAt: result.end, result.findings.map(\.stored), of: result.app,
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

    // MARK: - Input

    private func secretKey() throws(StartFailure) -> String {
        let text =
            if let keyFile { Self.text(of: keyFile, max: Self.keyBytesMax) } else {
                ProcessInfo.processInfo.environment[Self.keyVariable]
            }
        guard let text else {
            throw StartFailure(
                keyFile.map { "\($0) cannot be read." } ?? "RevenueCat's key is missing.",
                remedy: "Set \(Self.keyVariable), or name a file with --key-file.")
        }
        let key = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard key.hasPrefix("sk_"), key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw StartFailure(
                "This is not a secret key of RevenueCat.",
                remedy: "Create one of version 2 in RevenueCat's dashboard, under API keys. It "
                    + "begins with sk_.")
        }
        return key
    }

    /// - Returns: scheme, host and port.
    static func address(_ text: String) throws(StartFailure) -> String {
        let url = URL(string: text)
        let loopback: Set = ["127.0.0.1", "localhost", "::1"]
        let isPlain = url?.scheme == "http" && loopback.contains(url?.host ?? "")
        guard let url, let host = url.host, url.scheme == "https" || isPlain,
            url.path.isEmpty || url.path == "/", url.user == nil, url.query == nil
        else {
            throw StartFailure(
                "“\(text)” is not an address of RevenueCat: see --from.",
                remedy:
                    "Leave it out, or write https, a host, and perhaps a port. http is accepted "
                    + "only for this machine.")
        }
        let shown = host.contains(":") ? "[\(host)]" : host
        return "\(url.scheme ?? "https")://\(shown)" + (url.port.map { ":\($0)" } ?? "")
    }

    /// Returns nil if the file cannot be read, is larger than allowed, or is not UTF-8.
    private static func text(of path: String, max bytesMax: Int) -> String? {
        let file = try? FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file?.close() }
        guard let data = try? file?.read(upToCount: bytesMax + 1), data.count <= bytesMax else {
            return nil
        }
        return String(validating: data, as: UTF8.self)
    }

    private func moreIDs() throws(StartFailure) -> [CustomerID] {
        guard let customers else { return [] }
        guard let text = Self.text(of: customers, max: Self.idsBytesMax) else {
            throw StartFailure(
                "\(customers) cannot be read.",
                remedy: "Use a file of UTF-8 with at most \(Self.idsBytesMax) bytes, and one id "
                    + "on each line.")
        }
        return text.split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            .map { CustomerID(rawValue: $0) }
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
