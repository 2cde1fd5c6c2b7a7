import ArgumentParser
import AsyncHTTPClient
import Ledger
import Logging

/// The options of commands for a database whose data was made at a simulator's time.
struct SimulatorOptions: ParsableArguments {
    @Option(help: "Use a simulator's time. Only if every app is simulated.")
    var clockFrom: String?

    /// Makes an engine for these apps and their database, at the simulator's time.
    func assembly(
        of apps: [AppConfiguration], _ settings: ProcessSettings, for purpose: Assembly.Purpose
    ) async throws -> Assembly {
        let logger = Log.start(settings.logLevel)
        let time = try await time(for: apps, logger)
        // The command evaluates everything as of one moment.
        let now = time.now()
        return try await Assembly(
            apps: apps, databaseAddress: settings.database, for: purpose,
            simulatorRoot: time.root, receiptRoot: time.receiptRoot, now: { now },
            logger: logger)
    }

    /// Returns the simulator's time, which stays the same during the command, with its root
    /// certificates. If no simulator is named, returns the machine's running clock without roots.
    func time(
        for apps: [AppConfiguration], _ logger: Logger
    ) async throws -> SimulatedTime {
        guard let clockFrom else {
            let simulated = apps.filter(\.settings.isSimulated).map(\.settings.id.rawValue)
            if !simulated.isEmpty {
                Outcome.printError(
                    "warning: \(simulated.sorted().joined(separator: ", ")): evaluated by this "
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

/// The time at which a database is evaluated, and the roots under which its simulated documents are
/// signed.
struct SimulatedTime: Sendable {
    var now: @Sendable () -> Instant
    var root: [UInt8]?
    var receiptRoot: [UInt8]?
}
