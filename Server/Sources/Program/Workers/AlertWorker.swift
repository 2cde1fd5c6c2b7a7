import Engine
import HTTPServer
import Ledger
import Logging
import Storage
import Synchronization

/// Observes the page Health, and sends alerts when one of its rows turns.
final class AlertWorker: Sendable {
    /// The time between two observations.
    static let pause = Duration.seconds(30)

    private struct Watches {
        var rows = AlertWatch()
        var database = DatabaseWatch()
    }

    private let server: @Sendable () -> PerennialServer
    private let channels: [AlertChannel]
    private let post: @Sendable (AlertMessage, AlertChannel) async -> AlertOutcome
    private let holder: String
    private let now: @Sendable () -> Instant
    private let watches = Mutex(Watches())
    /// Begins the ids of messages about the database.
    private let idOfProcess = AlertService.newID()

    /// - Parameters:
    ///   - server: returns the server in force.
    ///   - channels: the channels of the configuration.
    ///   - holder: the name of this process in leases.
    ///   - post: sends one message by one channel.
    init(
        of server: @escaping @Sendable () -> PerennialServer, on channels: [AlertChannel],
        holder: String, now: @escaping @Sendable () -> Instant = { .machine },
        post: @escaping @Sendable (AlertMessage, AlertChannel) async -> AlertOutcome
    ) {
        (self.server, self.channels, self.holder) = (server, channels, holder)
        (self.now, self.post) = (now, post)
    }

    /// The loops: one observes, and each channel has one of its own, so that a mail server that
    /// does not answer delays neither the observations nor the other channel.
    func workers(logger: Logger, states: WorkerStates) -> [Worker] {
        let observing = Worker(
            .alerts, "looking for what to report in alerts failed", every: Self.pause,
            logger: logger, states: states
        ) {
            try await self.observe()
            return 0
        }
        return [observing]
            + channels.map { channel in
                Worker(
                    .alertMessages, "sending alerts failed", every: Self.pause, logger: logger,
                    states: states
                ) {
                    try await self.send(on: channel)
                }
            }
    }

    private var alerts: AlertService { server().engine.alerts }

    /// Makes one observation, and lets messages wait if rows have turned.
    func observe() async throws {
        let now = now()
        let findings = await server().healthFindings()
        try await report(findings.database, at: now)
        guard findings.database == nil else {
            watches.withLock { $0.rows = AlertWatch() }
            return
        }
        let open = try await alerts.open()
        let (confirmed, quiet) = watches.withLock { watches in
            (watches.rows.add(findings.rows, at: now), watches.rows.quiet(open, at: now))
        }
        try await alerts.update(
            findings.rows, confirmed: confirmed, quiet: quiet, on: channels, at: now)
        try await alerts.refresh(of: channels)
    }

    /// Reports that the database fails at once and by this server alone, because messages wait in
    /// the database.
    private func report(_ finding: HealthFinding?, at now: Instant) async throws {
        let turn = watches.withLock { $0.database.add(isReady: finding == nil, at: now) }
        switch turn {
        case .none: break
        case .bad(let since):
            guard let finding else { return }
            let message = AlertMessage.database(
                finding, since: since, isOver: false, id: id(since, "bad"), at: now)
            let reported = watches.withLock { $0.database.reported }
            for channel in channels where !reported.contains(channel) {
                let outcome = await post(message, channel)
                alerts.record(outcome, of: channel)
                if outcome.hasArrived {
                    watches.withLock { $0.database.recordReport(by: channel) }
                }
            }
        case .well(let since, let reported):
            let message = AlertMessage.database(
                HealthFinding(AlertSubject("Database"), ""), since: since, isOver: true,
                id: id(since, "well"), at: now)
            try await alerts.enqueue(message, on: channels.filter(reported.contains))
        }
    }

    private func id(_ since: Instant, _ turn: String) -> String {
        "\(idOfProcess)_\(since.milliseconds)_\(turn)"
    }

    /// Sends the oldest message of a channel. Returns 1 if it was sent; otherwise 0.
    func send(on channel: AlertChannel) async throws -> Int {
        let (alerts, post) = (alerts, post)
        return try await alerts.send(on: channel, by: holder, at: now) { await post($0, channel) }
    }
}
