import AppStoreTrust
import Engine
import HTTPServer
import Ledger
import Logging
import Storage
import Synchronization

@testable import Program

/// Servers on one database that send alerts, with a clock that the story moves.
final class AlertDesk: Sendable {
    /// A message that a receiver has accepted.
    struct Arrival: Hashable, Sendable {
        var channel: AlertChannel
        var message: AlertMessage
    }

    private struct State {
        var now = Instant(milliseconds: 1_795_248_000_000)
        var arrivals: [Arrival] = []
        var attempts: [AlertChannel: Int] = [:]
        var unreachable: Set<AlertChannel> = []
        /// The ids of messages that are refused by every channel.
        var unwanted: Set<String> = []
    }

    private let state = Mutex(State())

    var now: Instant { state.withLock { $0.now } }
    var arrivals: [Arrival] { state.withLock { $0.arrivals } }
    var attempts: [AlertChannel: Int] { state.withLock { $0.attempts } }

    /// What has arrived by one channel, as `+Log` for a row that turned bad, `-Log` for one that is
    /// well again, and `=Log` for one that is still bad.
    func texts(on channel: AlertChannel = .mail) -> [String] {
        arrivals.filter { $0.channel == channel }.map(\.message).map { message in
            (message.turnedBad.map { "+\($0.name)" } + message.turnedWell.map { "-\($0.name)" }
                + message.stillBad.map { "=\($0.name)" }).joined(separator: " ")
        }
    }

    func wait(_ duration: Duration) { state.withLock { $0.now = $0.now + duration } }

    func setReachable(_ isReachable: Bool, _ channel: AlertChannel) {
        state.withLock { state in
            if isReachable {
                state.unreachable.remove(channel)
            } else {
                state.unreachable.insert(channel)
            }
        }
    }

    func refuse(_ message: AlertMessage) {
        state.withLock { _ = $0.unwanted.insert(message.id) }
    }

    fileprivate func post(_ message: AlertMessage, _ channel: AlertChannel) -> AlertOutcome {
        state.withLock { state in
            state.attempts[channel, default: 0] += 1
            guard !state.unreachable.contains(channel) else {
                return .failed(reason: "Nobody answers.")
            }
            guard !state.unwanted.contains(message.id) else {
                return .refused(reason: "The receiver answered with status 400, not 2xx.")
            }
            state.arrivals.append(Arrival(channel: channel, message: message))
            return .sent
        }
    }

    /// One server.
    final class Server: Sendable {
        let desk: AlertDesk
        let http: PerennialServer
        private let worker: AlertWorker
        private let droppedLines: DroppedLines
        private let database: any DatabaseDriver

        /// Lets the row Database need attention.
        func closeDatabase() { database.close() }

        /// Lets the row Log need attention.
        func setDropped(_ lines: Int) { droppedLines.set(lines) }

        fileprivate init(
            _ desk: AlertDesk, _ http: PerennialServer, _ lines: DroppedLines,
            _ database: any DatabaseDriver, behindBy delay: Duration
        ) {
            (self.desk, self.http, droppedLines) = (desk, http, lines)
            self.database = database
            let name = AlertService.newID()
            worker = AlertWorker(
                of: { http }, on: AlertChannel.allCases, holder: name,
                now: { desk.now - delay }
            ) { desk.post($0, $1) }
        }

        /// Observes and sends, so often and with such pauses as a server does.
        func run(times: Int = 1) async throws {
            for _ in 0..<times {
                try await worker.observe()
                for channel in AlertChannel.allCases {
                    while try await worker.send(on: channel) > 0 {}
                }
                desk.wait(AlertWorker.pause)
            }
        }
    }

    final class DroppedLines: Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
        func set(_ lines: Int) { count.withLock { $0 = lines } }
    }

    /// Starts a server on a database.
    ///
    /// - Parameter products: the products that the app lists; without one, the row Products needs
    ///   attention.
    /// - Parameter delay: how far the server's clock is behind.
    func server(
        on database: any DatabaseDriver, products: [ProductID] = ["pro.monthly"],
        behindBy delay: Duration = .zero
    ) async throws -> Server {
        let logger = Logger(label: "alerts") { _ in SwiftLogNoOpLogHandler() }
        let birds = AppSettings(
            id: "birds", bundleID: "com.example.birds", entitlements: ["pro": Set(products)])
        let engine = Engine(
            database: database, apps: [birds], verifiers: ["birds": Verifier(roots: .apple)],
            now: { self.now }, logger: logger)
        try await engine.prepare()
        let lines = DroppedLines()
        var http = PerennialServer(
            engine: engine, logger: logger, logLinesDropped: { lines.value })
        http.sendsAlerts = true
        return Server(self, http, lines, database, behindBy: delay)
    }
}
