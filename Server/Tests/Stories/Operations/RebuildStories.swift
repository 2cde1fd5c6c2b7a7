import AppStoreFormats
import AppStoreTrust
import Dispatch
import Engine
import Eventually
import Ledger
import Storage
import StoragePostgres
import Synchronization
import Testing

/// A rebuild while servers are working.
@Suite(.serialized) struct RebuildStories {
    @Test(.timeLimit(.minutes(10)), arguments: [true, false])
    func `a rebuild ends even if documents that were signed earlier keep arriving`(
        verifyOnly: Bool
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let notifications = Array(
                try await Stream.notifications(from: shop.simulator).reversed())
            let first = notifications.prefix(300)
            for payload in first { try await Self.post(payload, to: shop) }
            async let arriving = Self.postAll(notifications.dropFirst(300), to: shop)
            let report = try await shop.engine.maintenance.rebuild(verifyOnly: verifyOnly)
            #expect(report.isClean, "\(report)")
            #expect(
                report.documents < notifications.count, "the rebuild waited for the last document")
            try await arriving
            let quiet = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            #expect(quiet.isClean && quiet.documents == notifications.count, "\(quiet)")
        }
    }

    @Test(arguments: [true, false])
    func `a rebuild waits for a table's lock, up to a limit`(
        letsGo: Bool
    ) async throws {
        try await withShop(on: .postgres, notifies: false) { shop in
            for payload in try await Stream.notifications(from: shop.simulator).prefix(50) {
                try await Self.post(payload, to: shop)
            }
            let log = RecordedLog()
            let (engine, database) = try Self.impatient(shop, log)
            defer { database.close() }
            let holder = try PostgresDriver(url: shop.address)
            defer { holder.close() }
            let gate = DispatchSemaphore(value: 0)
            let (held, tell) = AsyncStream.makeStream(of: Void.self)
            // Locks the table like a VACUUM.
            async let holding: Void = holder.write { connection in
                try connection.run("SET LOCAL idle_in_transaction_session_timeout = 0", [])
                try connection.run("LOCK TABLE documents IN SHARE UPDATE EXCLUSIVE MODE", [])
                tell.yield()
                try gate.wait(for: "the end of the rebuild")
            }
            defer { gate.signal() }
            try await held.first("the lock")
            let rests = Mutex(0)
            let rest: @Sendable (Duration) async throws -> Void = { _ in
                rests.withLock { $0 += 1 }
                if letsGo { gate.signal() }
            }
            if letsGo {
                let report = try await engine.maintenance.rebuild(verifyOnly: false, sleep: rest)
                #expect(report.isClean && report.documents == 50, "\(report)")
                #expect(rests.withLock { $0 } >= 1)
            } else {
                await #expect(throws: EngineFailure.busy) {
                    try await engine.maintenance.rebuild(verifyOnly: false, sleep: rest)
                }
                #expect(rests.withLock { $0 } == MaintenanceService.endingAttemptsMax - 1)
            }
            let told = log.lines.filter { $0.message.contains("waiting for locks on the tables") }
            #expect(told.first?.facts["attempt"] == "1")
            gate.signal()
            try await holding
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    /// Another process beside the server. This process waits for a lock for a tenth of a second.
    private static func impatient(
        _ shop: Shop, _ log: RecordedLog
    ) throws -> (Engine, PostgresDriver) {
        var limits = PostgresDriver.Limits()
        limits.lockWait = .milliseconds(100)
        let database = try PostgresDriver(url: shop.address, limits: limits)
        let settings = birds.settings
        let roots = try TrustRoots(der: [shop.authority.rootDER])
        let engine = Engine(
            database: database, apps: [settings], verifiers: [settings.id: Verifier(roots: roots)],
            now: { shop.engine.context.serverTime }, logger: log.logger)
        return (engine, database)
    }

    private static func post(_ payload: String, to shop: Shop) async throws {
        let body: JSON = ["signedPayload": .string(payload)]
        _ = try await shop.engine.recording.record(notification: body.bytes)
    }

    private static func postAll(
        _ payloads: ArraySlice<String>, to shop: Shop
    ) async throws {
        for payload in payloads {
            try await post(payload, to: shop)
            try await Task.sleep(for: .milliseconds(2))
        }
    }
}
