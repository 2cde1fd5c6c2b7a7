import AppStoreTrust
import Engine
import Ledger
import Logging
import StorageSQLite

extension Engine {
    /// An engine with one app, an empty database and a clock that stands still.
    static func empty(_ app: AppSettings, at now: Instant) async throws -> Engine {
        let engine = Engine(
            database: try SQLiteDriver.inMemory(), apps: [app],
            verifiers: [app.id: Verifier(roots: .apple)], now: { now },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await engine.prepare()
        return engine
    }
}
