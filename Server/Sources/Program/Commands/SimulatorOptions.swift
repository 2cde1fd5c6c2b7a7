import ArgumentParser
import AsyncHTTPClient
import Ledger
import Logging

/// Flags of commands that work on what a simulator's time has made.
struct SimulatorOptions: ParsableArguments {
    @Option(help: "Take the time from a simulator; only where every app is simulated.")
    var clockFrom: String?

    /// An engine of these apps over their database, at the simulator's time.
    func assembly(
        of apps: [AppConfiguration], _ settings: Settings, for purpose: Assembly.Purpose
    ) async throws -> Assembly {
        let logger = Log.start(settings.logLevel)
        let time = try await time(for: apps, logger)
        // All is looked at as of one moment.
        let now = time.now()
        return try await Assembly(
            apps: apps, databaseAddress: settings.database, for: purpose,
            simulatorRoot: time.root, receiptRoot: time.receiptRoot, now: { now },
            logger: logger)
    }

    /// What the simulator says, for which it stands still; the machine's time, which goes on, and
    /// no roots where none is named.
    func time(
        for apps: [AppConfiguration], _ logger: Logger
    ) async throws -> SimulatedTime {
        guard let clockFrom else {
            let simulated = apps.filter(\.settings.isSimulated).map(\.settings.id.rawValue)
            if !simulated.isEmpty {
                Outcome.toStandardError(
                    "warning: \(simulated.sorted().joined(separator: ", ")): judged by this "
                        + "machine's clock. Add --clock-from URL of the simulator that the server "
                        + "follows.")
            }
            return SimulatedTime(now: { .machine })
        }
        try ServeRules.check(apps, clockFrom: clockFrom)
        return try await HTTPClient.withHTTPClient { client in
            let clock = try await ClockFollower(clockFrom, client: client, logger: logger)
            let now = clock.now
            return SimulatedTime(
                now: { now }, root: try await clock.root(),
                receiptRoot: try await clock.receiptRoot())
        }
    }
}

/// The time by which a database is looked at, and what its documents are signed under.
struct SimulatedTime: Sendable {
    var now: @Sendable () -> Instant
    var root: [UInt8]?
    var receiptRoot: [UInt8]?
}
