import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Crypto
import Foundation
import Ledger
import Logging
import Storage
import StorageSQLite
import Synchronization
import Testing

@testable import Engine

/// Requests to the App Store when it does not answer as it should.
@Suite struct AskingTests {
    /// An app, a clock, and an App Store that responds as a test says.
    private final class Scene: Sendable {
        let engine: Engine
        let database: SQLiteDriver
        private let time: Time
        private let bodies: Bodies

        private final class Time: Sendable {
            private let value = Mutex(Instant(milliseconds: 1_767_268_800_000))
            var instant: Instant { value.withLock { $0 } }
            func pass(_ duration: Duration) { value.withLock { $0 = $0 + duration } }
        }

        private final class Bodies: Sendable {
            let asked = Mutex<[AppStoreRequest]>([])
        }

        init(
            apps: [AppID] = ["birds"],
            _ answer: @escaping @Sendable (_ number: Int, AppStoreRequest) -> AppStoreResponse
        ) async throws {
            let (time, bodies) = (Time(), Bodies())
            (self.time, self.bodies) = (time, bodies)
            let credentials = try AppStoreCredentials(
                keyID: "KEY1", issuerID: "ISSUER", bundleID: "com.example.birds",
                privateKey: P256.Signing.PrivateKey().pemRepresentation)
            let client = AppStoreClient(
                credentials, now: { AppStoreDate(milliseconds: time.instant.milliseconds) },
                send: { request in
                    let number = bodies.asked.withLock { asked in
                        asked.append(request)
                        return asked.count
                    }
                    return answer(number, request)
                })
            database = try SQLiteDriver.inMemory()
            engine = Engine(
                database: database,
                apps: apps.map {
                    AppSettings(
                        id: $0, bundleID: "com.example.\($0)", entitlements: [:],
                        consumption: ConsumptionRules(policy: .withConsent))
                },
                verifiers: Dictionary(
                    uniqueKeysWithValues: apps.map { ($0, Verifier(roots: .apple)) }),
                now: { time.instant },
                reconciliation: ReconciliationSettings(
                    worker: CheckWorker(
                        holder: "test", lease: ReconciliationSettings.lease, checksPerSecond: 25)
                ) { _ in client },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await engine.prepare()
        }

        func pass(_ duration: Duration) { time.pass(duration) }

        /// Adds purchases of an app that were never checked, numbered from `app-1`.
        func addDue(_ count: Int, of app: AppID) async throws {
            let now = time.instant
            try await engine.context.db.transaction { tx in
                for number in 1...count {
                    let id = TransactionID(rawValue: "\(app)-\(number)")
                    let payment = Payment(
                        transaction: id, product: "pro", from: now, until: now + .days(30))
                    let document = StoredDocument(
                        app: app, id: Array(SHA256.hash(data: Data(id.rawValue.utf8))),
                        kind: .transaction, environment: .production, source: .device,
                        signedAt: now, receivedAt: now, parts: [0], headers: [])
                    let purchase = PurchaseID(id, in: .production)
                    let fact = Fact(about: purchase, attestedAt: now, .payment(payment))
                    _ = try DocumentRecorder(tx).record(DocumentWithFacts(document, [fact]))
                }
            }
        }

        /// Adds a consumption request about the purchase of a customer who has given consent.
        func addQuestion(of app: AppID) async throws -> PurchaseID {
            try await addDue(1, of: app)
            let now = time.instant
            let purchase = PurchaseID(TransactionID(rawValue: "\(app)-1"), in: .production)
            try await engine.context.db.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                try OwnershipUpdates(tx).link(purchase, to: "anna", by: .device, in: app, at: now)
                try tx.consents.save(
                    Consent(isGiven: true, hadSample: nil, at: now), of: "anna", in: app)
                let document = StoredDocument(
                    app: app, id: [UInt8](repeating: 7, count: 32), kind: .notification,
                    environment: .production, source: .notification, signedAt: now,
                    receivedAt: now, parts: [0], headers: [])
                var asked = DocumentWithFacts(document, [])
                asked.consumptionInquiry = ConsumptionInquiry(
                    purchase: purchase, transaction: purchase.original, product: "pro",
                    reason: nil, askedAt: now)
                _ = try DocumentRecorder(tx).record(asked)
            }
            return purchase
        }

        /// The requests that the engine has sent to production.
        var asked: [AppStoreRequest] {
            bodies.asked.withLock { $0 }.filter { $0.environment == .production }
        }
    }

    @Test
    func `failed requests to Apple are counted by reason, but a status 400 is not counted`()
        async throws
    {
        let refusal: JSON = ["errorCode": 4_000_006, "errorMessage": "Invalid request."]
        let rows: [(status: Int, counts: [Int])] = [
            (401, [1, 0, 0, 0]), (429, [0, 1, 0, 0]), (503, [0, 0, 1, 0]), (204, [0, 0, 0, 1]),
            (400, [0, 0, 0, 0]),
        ]
        for row in rows {
            let scene = try await Scene { _, _ in
                AppStoreResponse(status: row.status, body: row.status == 400 ? refusal.bytes : [])
            }
            try await scene.addDue(1, of: "birds")
            _ = try await scene.engine.reconciliation.reconcileDue(limit: 8)
            let counts = scene.engine.counts
            let found = [
                counts.appStoreKeyRefused, counts.appStorePaused, counts.appStoreUnavailable,
                counts.appStoreUnreadable,
            ]
            #expect(found == row.counts, "\(row.status)")
        }
    }

    @Test func `a failed search for lost notifications does not hold up other requests`()
        async throws
    {
        // Apple's answer if a requested list of notifications is too long. Other requests still
        // succeed.
        let refusal: JSON = ["errorCode": 4_000_006, "errorMessage": "Invalid request."]
        let scene = try await Scene { _, _ in
            AppStoreResponse(status: 400, body: refusal.bytes)
        }
        for _ in 1...5 {
            for _ in 1...2 { try await scene.engine.backfill.run() }
            scene.pass(.hours(1))
        }
        #expect(scene.asked.count == 5, "once, and then not before a pause is over")
        try await scene.engine.reconciliation.refreshStates()
        #expect(scene.engine.reconciliation.states.map(\.failures) == [0, 0])
        #expect(scene.engine.backfill.isFailing)
        for environment in Environment.allCases {
            let standing = try await scene.engine.context.db.read {
                try $0.appStore.health(of: "birds", in: environment)
            }
            #expect(standing.pausedUntil.milliseconds == 0)
        }
    }

    @Test func `after a 429, the backfill waits and continues on the same page`() async throws {
        let now: Int64 = 1_767_268_800_000
        let scene = try await Scene { number, request in
            let isFirst = request.query.allSatisfy { $0.0 != "paginationToken" }
            if isFirst {
                let page: JSON = [
                    "notificationHistory": [], "hasMore": true, "paginationToken": "two",
                ]
                return AppStoreResponse(status: 200, body: page.bytes)
            }
            guard number.isMultiple(of: 2) else {
                let last: JSON = ["notificationHistory": [], "hasMore": false]
                return AppStoreResponse(status: 200, body: last.bytes)
            }
            return AppStoreResponse(status: 429, retryAfter: "\(now + 100)")
        }
        try await scene.engine.backfill.run()
        #expect(scene.asked.count == 3)
        try await scene.engine.backfill.run()
        #expect(scene.asked.count == 3, "done for an hour")
    }

    @Test func `failures of requests that are made at the same time count as one failure`()
        async throws
    {
        let scene = try await Scene { _, _ in AppStoreResponse(status: 500) }
        let now = Instant(milliseconds: 1_767_268_800_000)
        for (moment, failures) in [(now, 3), (now + .seconds(15), 4), (now + .seconds(20), 4)] {
            let standing = try await scene.engine.context.db.transaction { tx in
                for _ in 1...25 {
                    try ReconciliationDecisions(tx).recordAppStoreFailure(
                        of: "birds", in: .production, at: moment)
                }
                return try tx.appStore.health(of: "birds", in: .production)
            }
            #expect(standing.failures == failures)
            #expect(standing.pausedUntil <= now + .seconds(45))
        }
    }

    /// The server is stopped during its request, and the App Store does not answer.
    private static func sceneThatStops() async throws -> Scene {
        try await Scene { _, _ in
            withUnsafeCurrentTask { task in if let task { task.cancel() } }
            return AppStoreResponse(status: 500)
        }
    }

    /// Runs the body in its own task, so that cancelling it does not cancel the test.
    private static func apart(
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await body() }
            try await tasks.waitForAll()
        }
    }

    @Test func `a server that stops during a backfill reports no failure`() async throws {
        let scene = try await Self.sceneThatStops()
        for count in 1...2 {
            try await Self.apart { _ = try await scene.engine.backfill.run() }
            #expect(scene.asked.count == count, "the next may ask at once")
            #expect(!scene.engine.backfill.isFailing)
            for environment in Environment.allCases {
                let standing = try await scene.engine.context.db.read {
                    try $0.appStore.health(of: "birds", in: environment)
                }
                #expect(standing.failures == 0)
            }
        }
    }

    @Test func `if the server's stop interrupts a consumption response, no attempt is counted`()
        async throws
    {
        let scene = try await Self.sceneThatStops()
        let purchase = try await scene.addQuestion(of: "birds")
        for count in 1...2 {
            try await Self.apart { _ = try await scene.engine.consumption.respondToInquiries() }
            #expect(scene.asked.count == count, "the next may answer at once")
            let questions = try await scene.engine.context.db.read {
                try $0.inquiries.all(about: [purchase], in: "birds")
            }
            #expect(questions.map(\.state) == [.waiting] && questions.map(\.attempts) == [0])
        }
    }

    @Test func `in every batch, each app gets some checks, even if another app has most of them`()
        async throws
    {
        let apps: [AppID] = ["ants", "bats", "cats"]
        let scene = try await Scene(apps: apps) { _, _ in
            AppStoreResponse(status: 400, body: Array(#"{"errorCode": 4000006}"#.utf8))
        }
        for (app, count) in zip(apps, [100, 100, 1]) { try await scene.addDue(count, of: app) }
        #expect(try await scene.engine.reconciliation.reconcileDue(limit: 30) == 30)
        let paths = scene.asked.map(\.path)
        let counts = apps.map { app in paths.count { $0.contains("\(app)-") } }
        #expect(counts[2] == 1 && counts.allSatisfy { $0 >= 1 } && counts.max() == 19, "\(counts)")
    }

    @Test func `successive batches of checks begin with different apps`() {
        let turn = RoundRobin()
        let firsts = (1...3).map { _ in turn.rotated(["a", "b", "c"]).first }
        #expect(Set(firsts) == ["a", "b", "c"])
        #expect(turn.rotated(["a", "b", "c"]).sorted() == ["a", "b", "c"])
        #expect(turn.rotated([]).isEmpty)
    }

    @Test func `a search says whether the App Store was asked and whether it answered`()
        async throws
    {
        let unknown: JSON = ["errorCode": 4_040_010, "errorMessage": "Not found."]
        let none: JSON = ["status": 1, "signedTransactions": []]
        let (notFound, noOrder) = (
            AppStoreResponse(status: 404, body: unknown.bytes),
            AppStoreResponse(status: 200, body: none.bytes)
        )
        let unreadable: JSON = ["errorCode": 4_000_000, "errorMessage": "Bad request."]
        let badRequest = AppStoreResponse(status: 400, body: unreadable.bytes)
        let down = AppStoreResponse(status: 500, body: [])
        let rows: [(String, AppStoreResponse, CustomerSearch.Store)] = [
            ("7001", notFound, .answered([])), ("MLQ4X2AB9", noOrder, .answered([])),
            ("MNOSUCH123", badRequest, .answered([])),
            ("7001", down, .failed), ("MLQ4X2AB9", down, .failed), ("anna", down, .notQueried),
        ]
        for (query, response, store) in rows {
            let scene = try await Scene { _, _ in response }
            let search = try await scene.engine.customers.find(like: query, app: "birds")
            #expect(search == CustomerSearch(found: [], store: store), "\(query)")
        }
        let database = try SQLiteDriver.inMemory()
        let engine = Engine(
            database: database,
            apps: [AppSettings(id: "birds", bundleID: "com.example.birds", entitlements: [:])],
            verifiers: ["birds": Verifier(roots: .apple)],
            now: { Instant(milliseconds: 1_767_268_800_000) }, logger: Logger(label: "test"))
        try await engine.prepare()
        let search = try await engine.customers.find(like: "7001", app: "birds")
        #expect(search.store == .notConfigured)
    }
}
