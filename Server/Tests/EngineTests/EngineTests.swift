import AppStoreTrust
import Engine
import Ledger
import Logging
import StorageSQLite
import Synchronization
import Testing

private let now = Instant(milliseconds: 1_700_000_000_000)

/// An engine with one app and an empty database. Tests that need signed documents are in Stories.
private func engine() async throws -> Engine {
    let app = AppSettings(
        id: "birds", bundleID: "com.example.birds", entitlements: ["pro": ["pro.monthly"]])
    return try await .empty(app, at: now)
}

/// Two apps on one database, and a clock that a test moves.
private struct TwoApps {
    let engine: Engine
    let database: SQLiteDriver
    private let time = Time()

    private final class Time: Sendable {
        private let value = Mutex(now)
        var instant: Instant { value.withLock { $0 } }
        func pass(_ duration: Duration) { value.withLock { $0 = $0 + duration } }
    }

    init() async throws {
        database = try SQLiteDriver.inMemory()
        let apps = ["birds", "cats"].map {
            AppSettings(
                id: AppID(rawValue: $0), bundleID: "com.example.\($0)",
                entitlements: ["pro": ["pro.monthly"]])
        }
        engine = Engine(
            database: database, apps: apps,
            verifiers: ["birds": Verifier(roots: .apple), "cats": Verifier(roots: .apple)],
            now: { [time] in time.instant },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await engine.prepare()
    }

    func pass(_ duration: Duration) { time.pass(duration) }
}

private func failure<Value>(_ body: () async throws -> Value) async -> EngineFailure? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? EngineFailure
    }
}

@Suite struct EngineTests {
    @Test func `an unknown customer has no purchases, and a read of the customer stores nothing`()
        async throws
    {
        let engine = try await engine()
        let state = try await engine.customers.find("anna", app: "birds", environment: .production)
        #expect(state.entitlements.isEmpty && state.purchases.isEmpty && state.aliases.isEmpty)
        #expect(state.asOf == now)
        let united = try await engine.customers.alias(
            "anna", to: "device-7", app: "birds", environment: .production)
        #expect(united.aliases == ["anna"], "anna was no customer before: \(united.aliases)")
    }

    @Test func `each of two aliases lists the other id, and adding an alias again changes nothing`()
        async throws
    {
        let engine = try await engine()
        for _ in 0..<2 {
            _ = try await engine.customers.alias(
                "device-7", to: "anna", app: "birds", environment: .production)
        }
        let anna = try await engine.customers.find("anna", app: "birds", environment: .production)
        let device = try await engine.customers.find(
            "device-7", app: "birds", environment: .production)
        #expect(anna.aliases == ["device-7"])
        #expect(device.aliases == ["anna"])
    }

    @Test func `the number of a customer's ids is limited`() async throws {
        let engine = try await engine()
        for number in 1..<CustomerService.idsMax {
            _ = try await engine.customers.alias(
                CustomerID(rawValue: "device-\(number)"), to: "anna", app: "birds",
                environment: .production)
        }
        let tooMany = await failure {
            try await engine.customers.alias(
                "one-more", to: "anna", app: "birds", environment: .production)
        }
        #expect(tooMany == .tooManyIDs(limit: CustomerService.idsMax))
    }

    @Test(arguments: [
        "", " ", "null", "Guest", "0", "undefined", "a\nb", " anna", "[object Object]",
        "00000000-0000-0000-0000-000000000000", String(repeating: "x", count: 256),
    ])
    func `an id that identifies no person is refused everywhere`(id: String) async throws {
        let engine = try await engine()
        let id = CustomerID(rawValue: id)
        let expected = EngineFailure.invalidCustomerID(id.rawValue)
        #expect(
            await failure {
                try await engine.customers.find(id, app: "birds", environment: .production)
            }
                == expected)
        #expect(
            await failure {
                try await engine.customers.alias(
                    id, to: "anna", app: "birds", environment: .production)
            } == expected)
        #expect(
            await failure {
                try await engine.recording.record(
                    PurchaseEvidence(signedTransactions: ["x"]), of: id, app: "birds")
            } == expected)
    }

    @Test func `a repeated request for a grant that has expired returns the expired grant`()
        async throws
    {
        let two = try await TwoApps()
        var order = NewGrant(entitlement: "pro", until: now + .days(1), reason: "", key: "k")
        let given = try await two.engine.grants.add(
            order, to: "anna", app: "birds", environment: .production)
        two.pass(.days(2))
        let again = try await two.engine.grants.add(
            order, to: "anna", app: "birds", environment: .production)
        #expect(again == given)
        order.key = nil
        let late = order
        let refused = await failure {
            try await two.engine.grants.add(
                late, to: "anna", app: "birds", environment: .production)
        }
        #expect(refused == .grantAlreadyExpired(now + .days(1)))
    }

    @Test func `if an app's events cannot be written, other apps are not held up`() async throws {
        let two = try await TwoApps()
        for app: AppID in ["birds", "cats"] {
            let order = NewGrant(entitlement: "pro", until: now + .days(1), reason: "", key: nil)
            _ = try await two.engine.grants.add(
                order, to: "anna", app: app, environment: .production)
        }
        two.pass(.days(2))
        _ = try await two.database.write {
            try $0.run(
                "CREATE TRIGGER broken BEFORE INSERT ON events WHEN NEW.app = 'birds' "
                    + "BEGIN SELECT RAISE(ABORT, 'broken'); END", [])
        }
        #expect(try await two.engine.events.emitTimeBased() == 1)
        let told = try await two.engine.events.list(of: "cats", after: 0, limit: 10)
        #expect(told.map(\.entry.change.kind) == [.granted, .grantEnded])
        // The failure is still reported when all other work is done.
        guard case .storage? = await failure({ try await two.engine.events.emitTimeBased() }) else {
            Issue.record("the failure was kept silent")
            return
        }
    }

    @Test func `an API key is valid for one app, and a changed or empty key is invalid`()
        async throws
    {
        let engine = try await engine()
        #expect(try await engine.keys.hasKeys("birds") == false)
        let key = try await engine.keys.create(app: "birds", kind: .secret, name: "server")
        #expect(key.hasPrefix("sk_birds_") && key.count == "sk_birds_".count + 48)
        #expect(try await engine.keys.hasKeys("birds"))
        let holder = try await engine.keys.holder(key)
        #expect(holder?.app == "birds" && holder?.kind == .secret && holder?.scopes == [.admin])
        #expect(try await engine.keys.holder(key + "x") == nil)
        #expect(try await engine.keys.holder("") == nil)
    }

    @Test func `two new API keys are never the same`() async throws {
        let engine = try await engine()
        let one = try await engine.keys.create(app: "birds", kind: .app, name: "")
        let other = try await engine.keys.create(app: "birds", kind: .app, name: "")
        #expect(one != other)
    }

    @Test func `an API key for an app that is not configured is refused`() async throws {
        let engine = try await engine()
        #expect(
            await failure { try await engine.keys.create(app: "rage", kind: .app, name: "") }
                == .unknownApp("rage"))
    }

    @Test(arguments: [
        "", "{", "[]", "null", "{}", #"{"signedPayload":7}"#, #"{"signedPayload":"a.b"}"#,
        #"{"signedPayload":"eyJ9.e30.AAAA"}"#,
    ])
    func `a body that is not a notification is refused and counted`(body: String) async throws {
        let engine = try await engine()
        let failure = await failure {
            try await engine.recording.record(notification: Array(body.utf8))
        }
        switch failure {
        case .unreadable, .notTrusted: break
        default: Issue.record("\(String(describing: failure)) for \(body)")
        }
        #expect(engine.counts.notificationsRefused == 1)
        #expect(engine.counts.notificationsRecorded == 0)
    }

    @Test func `a request with too many documents is refused`() async throws {
        let engine = try await engine()
        let evidence = PurchaseEvidence(
            signedTransactions: Array(repeating: "x", count: PurchaseEvidence.documentsMax + 1))
        #expect(
            await failure { try await engine.recording.record(evidence, of: "anna", app: "birds") }
                == .limitExceeded(
                    what: "documents in a request", limit: PurchaseEvidence.documentsMax))
    }

    @Test func `a rebuild of an empty database finds no difference`() async throws {
        let report = try await engine().maintenance.rebuild(verifyOnly: true)
        #expect(report.isClean && report.documents == 0)
    }

    @Test func `only text that may be an order number is sent to the App Store`() {
        let numbers: [(String, String?)] = [
            ("MK5TTTVWJH", "MK5TTTVWJH"), ("mk5tttvwjh", "MK5TTTVWJH"), ("M123456", nil),
            ("M1234567", "M1234567"), ("M12345678901234", "M12345678901234"),
            ("M123456789012345", nil), ("margaret", nil), ("K5TTTVWJHX", nil), ("", nil),
            ("MK5 TTVWJH", nil), ("mary-1999", nil), ("MK5TTTVWJÄ", nil),
        ]
        for (text, expected) in numbers {
            #expect(CustomerService.orderNumber(text) == expected, "\(text)")
        }
    }
}
