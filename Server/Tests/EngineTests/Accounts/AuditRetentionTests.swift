import AppStoreTrust
import Ledger
import Storage
import Testing

@testable import Engine

private let present = Instant("2026-12-01T10:30:00.000Z") ?? Instant(milliseconds: 0)

/// The deletion of old entries of the audit, and of expired rows about sign-ins.
@Suite struct AuditRetentionTests {
    private static func app(auditDays days: Int? = nil, _ name: AppID = "birds") -> AppSettings {
        var app = AppSettings(
            id: name, bundleID: "com.example.\(name)", entitlements: [:])
        app.retention.audit = days.map { .days($0) }
        return app
    }

    /// An engine whose audits of the app and of accounts have entries of several ages.
    private static func engine() async throws -> Engine {
        let engine = try await Engine.empty(app(), at: present)
        try await engine.context.transaction { tx in
            for app in [AppID?.some("birds"), nil] {
                for days in [10, 364, 366, 500, 900] {
                    let id = "\(1000 + days)" + String(repeating: "0", count: 28)
                    try tx.audit.append(
                        RecordedAct(
                            app: app, at: present - .days(days), id: id, author: "mira",
                            act: "customers.grants", subject: "\(days)"))
                }
            }
        }
        return engine
    }

    private static func entries(
        of app: AppID?, in engine: Engine
    ) async throws -> [RecordedAct] {
        try await engine.audit.page(of: app, limit: 50).entries
    }

    private static func replaced(_ engine: Engine, by apps: [AppSettings]) -> Engine {
        engine.replacing(
            apps: apps,
            verifiers: Dictionary(
                uniqueKeysWithValues: apps.map { ($0.id, Verifier(roots: .apple)) }),
            signers: [:], reconciliation: .disabled)
    }

    @Test func `audit entries older than configured are deleted, and a new entry has their number`()
        async throws
    {
        let engine = try await Self.engine()
        #expect(try await engine.retention.deleteOldAuditEntries() == 0)
        let year = Self.replaced(engine, by: [Self.app(auditDays: 800)])
        #expect(try await year.retention.deleteOldAuditEntries() == 2)
        #expect(try await year.retention.deleteOldAuditEntries() == 0)
        let shorter = Self.replaced(engine, by: [Self.app(auditDays: 365)])
        #expect(try await shorter.retention.deleteOldAuditEntries() == 4)
        let left = try await Self.entries(of: "birds", in: shorter)
        #expect(left.compactMap(\.subject) == ["10", "364"])
        let reports = left.filter { $0.act == RetentionService.auditAct }
        #expect(reports.allSatisfy { $0.author == "retention" })
        let removed = reports.compactMap { $0.stateAfter?[RetentionService.removedMember] }
        #expect(removed.sorted() == ["1", "3"])
        let moments = reports.compactMap { $0.stateAfter?[RetentionService.beforeMember] }
        #expect(moments.sorted().last == "2025-12-01T00:00:00.000Z")
    }

    @Test func `entries about accounts are deleted only if every app sets audit_days`()
        async throws
    {
        let engine = try await Self.engine()
        let one = Self.replaced(engine, by: [Self.app(auditDays: 365), Self.app("bees")])
        _ = try await one.retention.deleteOldAuditEntries()
        #expect(try await Self.entries(of: nil, in: one).count == 5)
        let both = Self.replaced(
            engine, by: [Self.app(auditDays: 365), Self.app(auditDays: 600, "bees")])
        _ = try await both.retention.deleteOldAuditEntries()
        let left = try await Self.entries(of: nil, in: both)
        #expect(left.compactMap(\.subject) == ["10", "364", "366", "500"])
    }

    @Test func `a server whose clock is far ahead of the database's clock deletes nothing`()
        async throws
    {
        let future = try #require(Instant("2399-01-01T00:00:00.000Z"))
        let past = try #require(Instant("2019-01-01T00:00:00.000Z"))
        let ahead = try await Engine.empty(Self.app(), at: future)
        await #expect(throws: ClockAhead.self) { try await ahead.retention.requireClock() }
        try await Engine.empty(Self.app(), at: past).retention.requireClock()
        var simulated = Self.app()
        simulated.isSimulated = true
        try await Engine.empty(simulated, at: future).retention.requireClock()
    }

    @Test func `expired sessions, links and failed sign-ins are deleted, even if nobody signs in`()
        async throws
    {
        let engine = try await Self.engine()
        let (hour, day) = (Int64(3_600_000), Int64(86_400_000))
        let now = present.milliseconds
        try await engine.context.db.driver.write { connection in
            func add(_ row: String, _ moments: [Int64]) throws {
                _ = try connection.run(row, moments.map { .integer($0) })
            }
            for (name, until, used) in [
                ("11", now + day, now - hour), ("22", now - 1, now - hour),
                ("33", now + day, now - 13 * hour),
            ] {
                let hash = String(repeating: name, count: 32)
                try add(
                    "INSERT INTO operator_sessions (app, session, operator, created_at_ms, "
                        + "used_at_ms, until_ms, address, agent) "
                        + "VALUES ('', x'\(hash)', '\(name)', 0, $1, $2, '', '')", [used, until])
                try add(
                    "INSERT INTO used_sign_ins (app, sign_in, until_ms) "
                        + "VALUES ('', x'\(hash)', $1)",
                    [until])
            }
            for (name, at) in [("old", now - 91 * day), ("new", now - 60_000)] {
                try add(
                    "INSERT INTO sign_in_failures (app, subject, failures, last_at_ms) "
                        + "VALUES ('', '\(name)', 1, $1)", [at])
                try add(
                    "INSERT INTO sign_in_places (app, operator, network, used_at_ms) "
                        + "VALUES ('', '\(name)', '192.0.2.0', $1)", [at])
            }
        }
        // Two sessions, a used sign-in, a failure and a network.
        #expect(try await engine.retention.deleteExpiredSignIns() == 5)
        #expect(try await engine.retention.deleteExpiredSignIns() == 0)
        let left = try await engine.context.db.driver.read { connection in
            try [
                "operator FROM operator_sessions", "subject FROM sign_in_failures",
                "operator FROM sign_in_places",
            ].map { try connection.texts("SELECT \($0)") }
        }
        #expect(left == [["11"], ["new"], ["new"]])
    }
}
