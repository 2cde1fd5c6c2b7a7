import AppStoreTrust
import Ledger
import Logging
import Storage
import StorageSQLite

@testable import Engine
@testable import HTTPServer

extension Metrics {
    /// Metrics that all have a sample.
    static func full() throws -> Metrics {
        let moment = TestServer.now
        let counts = RequestCounts()
        for isWait in [false, true] {
            counts.add(
                method: "GET", route: "/v1/customers/{id}", status: 200, after: .milliseconds(3),
                isWait: isWait)
        }
        let check = ReconciliationState(
            app: "birds", environment: .production, due: 1, oldestDueAge: .seconds(1),
            respondedAt: moment, failures: 0, seatReports: 1, oldestSeatReportAge: .seconds(1))
        let forward = ForwardingState(
            app: "birds", target: "old", label: "https://old.example.com", waiting: 1,
            oldestAge: .seconds(1))
        let webhook = WebhookState(
            app: "birds", webhook: "w", label: "https://example.com", waiting: 1,
            oldestAge: .seconds(1), unreadEvents: 1, isPaused: false, failingFor: nil)
        var measurements = Measurements(
            isReady: true, schemaVersion: 1, databaseBytes: 1,
            apps: [AppMeasurements(app: "birds")])
        measurements.copyLag = .seconds(1)
        return Metrics(
            engine: try emptyEngine().counts, checks: [check], clockAhead: .seconds(1),
            forwarding: [forward], webhooks: [webhook], backup: fullBackup,
            alerts: [
                AlertBacklog(
                    channel: .mail, waiting: 1, oldest: moment, failures: 1, trouble: "No answer.")
            ], requests: counts.all,
            bodies: .init(), eventStreams: 0, logLinesDropped: 0, uptimeSeconds: 1,
            measurements: measurements,
            notifications: [
                .init(app: "birds", environment: .production, arrivedAt: moment)
            ],
            workers: [("checks", .init(succeededAt: moment, failures: 1))],
            process: ProcessReadings(
                certificateEnd: moment, disk: DiskSpace(bytes: 2, freeBytes: 1), spansDropped: 1))
    }

    private static var fullBackup: BackupState {
        var state = BackupState()
        state.changesLag = .seconds(1)
        state.bucketLag = .seconds(2)
        (state.newestAt, state.age, state.bytes) = (TestServer.now, .seconds(1), 1)
        (state.files, state.duration) = (1, .seconds(1))
        return state
    }

    private static func emptyEngine() throws -> Engine {
        Engine(
            database: try SQLiteDriver.inMemory(), apps: [ListeningServer.birds],
            verifiers: ["birds": Verifier(roots: .apple)], now: { TestServer.now },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
}
