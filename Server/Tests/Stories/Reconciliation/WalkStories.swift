import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Convergence
import Engine
import Ledger
import Logging
import Simulator
import Storage
import Synchronization
import Testing

/// A proxy answers notifications with 200 on their way to us, and loses them.
@Suite(.serialized) struct WalkStories {
    @Test(arguments: StoryDatabase.allCases)
    func `if a proxy lost the notification of a refund, the refund is known within a day`(
        database: StoryDatabase
    ) async throws {
        try await SwallowingShop.open(on: database) { shop in
            let bought = try await shop.buy("tiers.silver")
            try await shop.pass(days: 10)
            #expect(try await shop.isTrue())
            shop.way.swallow(1)
            try await shop.store.change(bought, .refund())
            // The App Store got a 200, so its list of failed notifications does not contain this
            // notification.
            try await shop.pass(hours: 2, walks: false)
            try await shop.engine.backfill.run()
            #expect(try await !shop.isTrue())
            try await shop.pass(days: 1)
            #expect(try await shop.isTrue())
            #expect(shop.engine.counts.notificationsBackfilled == 1)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if a proxy lost a notification of a cancellation, the cancellation is known within a day`(
        database: StoryDatabase
    ) async throws {
        try await SwallowingShop.open(on: database) { shop in
            let bought = try await shop.buy("tiers.silver")
            try await shop.pass(days: 3)
            shop.way.swallow(1)
            try await shop.store.change(bought, .cancel)
            #expect(try await !shop.isTrue())
            try await shop.pass(days: 1)
            #expect(try await shop.isTrue())
        }
    }

    @Test func `all lost notifications are found with at most one request for ten notifications`()
        async throws
    {
        try await SwallowingShop.open(on: .sqlite) { shop in
            _ = try await shop.store.populate(2_500, within: .months(2))
            shop.way.swallow(0.2)
            for _ in 0..<120 { try await shop.pass(hours: 12) }
            let sent = await shop.store.notifications
            let counts = shop.engine.counts
            let rate = Double(counts.historyPages) / Double(sent.count)
            print(
                "\(counts.historyPages) pages for \(sent.count) notifications, \(rate) each; "
                    + "\(shop.way.swallowed) were swallowed, "
                    + "\(counts.notificationsBackfilled) found"
            )
            #expect(rate <= 0.1)
            #expect(shop.way.swallowed > 100)
            // The next walk starts where the last one ended, but at most twelve hours ago, and
            // finds all notifications since then.
            let settled = shop.store.clock.milliseconds - 13 * 3_600_000
            let missing = try await shop.missing(
                sent.filter { $0.draft.at.milliseconds < settled })
            #expect(missing == 0)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after a restore from a backup, a database gets all notifications since the backup`(
        database: StoryDatabase
    ) async throws {
        try await SwallowingShop.open(on: .sqlite) { shop in
            _ = try await shop.store.populate(20, within: .months(1))
            try await shop.pass(days: 15)
            try await database.withAddress { address in
                let backup = try database.open(address)
                let store = Database(backup)
                try await store.migrate(at: 0)
                try await store.copy(from: Database(shop.database))
                try await shop.pass(days: 10)
                let since = await shop.store.notifications
                #expect(try await shop.missing(since) == 0)
                let restored = try shop.on(backup)
                let lost = try await restored.missing(since)
                #expect(lost > 10)
                try await restored.engine.backfill.walkHistory()
                #expect(try await restored.missing(since) == 0)
                #expect(restored.engine.counts.notificationsBackfilled == lost)
                backup.close()
            }
        }
    }

    @Test
    func `the first read of the notification history starts a month before the newest document`()
        async throws
    {
        try await SwallowingShop.open(on: .sqlite) { shop in
            _ = try await shop.store.populate(20, within: .months(3))
            shop.way.swallow(1)
            try await shop.pass(days: 80, walks: false)
            let before = await shop.store.notifications
            #expect(before.count > 40)
            try await shop.engine.backfill.walkHistory()
            #expect(shop.engine.counts.historyPages == 0)
            #expect(try await shop.missing(before) == before.count)
            try await Self.expectMonthBeforeImport(in: shop, before)
        }
    }

    /// Another server knows one document, as after an import, from about day 60. Expects that this
    /// server's first walk begins a month before the document.
    private static func expectMonthBeforeImport(
        in shop: SwallowingShop, _ sent: [SentNotification]
    ) async throws {
        let day: Int64 = 86_400_000
        let start = sent[0].draft.at.milliseconds
        let sent = sent.filter { $0.draft.environment == .production }
        let newest = try #require(sent.last { $0.draft.at.milliseconds < start + 60 * day })
        let margin = newest.draft.at.milliseconds - 30 * day
        let heard = sent.filter { $0.draft.at.milliseconds > margin }
        let earlier = sent.filter { $0.draft.at.milliseconds < margin }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let database = try StoryDatabase.sqlite.open(folder.path + "/import.sqlite")
        let other = try shop.on(database)
        try await other.engine.prepare()
        try await other.record(newest)
        try await other.engine.backfill.walkHistory()
        #expect(try await other.missing(heard) == 0)
        let unheard = try await other.missing(earlier)
        #expect(unheard == earlier.count && unheard > 0)
        database.close()
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after an import, the server reads the notifications that the previous backend got`(
        database: StoryDatabase
    ) async throws {
        try await SwallowingShop.open(on: database) { shop in
            // Apple still sends notifications to the old backend.
            shop.way.swallow(1)
            let number = try await shop.buyElsewhere("tiers.silver")
            try await shop.pass(days: 2, walks: false)
            _ = try await shop.store.populate(20, within: .months(1))
            try await shop.pass(days: 10, walks: false)
            let before = await shop.store.notifications.filter {
                $0.draft.environment == .production
            }
            // The new server starts without documents, so its first walk goes back two hours at
            // most.
            try await shop.pass(days: 2)
            #expect(try await shop.missing(before) > 5)
            let sentOn = try await shop.forwardCount()
            try await shop.bring(number)
            try await shop.pass(hours: 1)
            #expect(try await shop.missing(before) == 0)
            #expect(
                try await shop.forwardCount() == sentOn,
                "other servers got these notifications long ago")
        }
    }

    @Test
    func `an interrupted read of the notification history continues later without a gap`()
        async throws
    {
        try await SwallowingShop.open(on: .sqlite) { shop in
            _ = try await shop.store.populate(60, within: .months(1))
            try await shop.pass(days: 1)
            shop.way.swallow(1)
            try await shop.pass(days: 20, walks: false)
            await shop.store.setFaults { $0.api.odds[.retryableError] = 0.5 }
            for _ in 0..<60 {
                try await shop.engine.backfill.walkHistory()
                try await shop.pass(minutes: 10, walks: false)
            }
            let sent = await shop.store.notifications
            let settled = shop.store.clock.milliseconds - 86_400_000
            let missing = try await shop.missing(
                sent.filter { $0.draft.at.milliseconds < settled })
            #expect(missing == 0)
        }
    }
}

/// A simulated App Store, a server that sends it requests, and a proxy that may lose notifications
/// between them.
private struct SwallowingShop: Sendable {
    let store: AppStoreSimulator
    let engine: Engine
    let database: any DatabaseDriver
    let way: Way

    /// The way of each notification to the server.
    final class Way: Sendable {
        private struct State {
            var engine: Engine?
            var share = 0.0
            var swallowed = 0
            var dice = SplitMix64(seed: 1)
        }

        private let state = Mutex(State())

        var swallowed: Int { state.withLock { $0.swallowed } }

        /// Answers this share of notifications with 200 from now on, and loses them.
        func swallow(_ share: Double) { state.withLock { $0.share = share } }

        func connect(_ engine: Engine?) { state.withLock { $0.engine = engine } }

        func post(_ body: [UInt8]) async -> PostResult {
            let engine = state.withLock { state -> Engine? in
                guard Double.random(in: 0..<1, using: &state.dice) < state.share else {
                    return state.engine
                }
                state.swallowed += 1
                return nil
            }
            do {
                _ = try await engine?.recording.record(notification: body)
                return PostResult(status: 200)
            } catch { return PostResult(status: 503, error: "\(error)") }
        }
    }

    private static let app: AppID = "birds"
    private static let target = ForwardTarget(
        name: "https://other.example", url: "https://other.example",
        environments: [.production, .sandbox])
    private static let authority = Result { try SigningAuthority() }

    static func open(
        on database: StoryDatabase, _ story: (SwallowingShop) async throws -> Void
    ) async throws {
        try await database.withAddress { address in
            let way = Way()
            let store = AppStoreSimulator(
                SimulatorSettings(shop: try FullShop.file(), notificationURL: "direct"),
                authority: try authority.get(), post: { _, body in await way.post(body) })
            let rows = try database.open(address)
            let shop = SwallowingShop(
                store: store, engine: try engine(on: rows, of: store), database: rows, way: way)
            try await shop.engine.prepare()
            way.connect(shop.engine)
            defer { way.connect(nil) }
            try await story(shop)
            rows.close()
        }
    }

    /// The shop with another server, on another database, that gets no notifications.
    func on(_ other: any DatabaseDriver) throws -> SwallowingShop {
        SwallowingShop(
            store: store, engine: try Self.engine(on: other, of: store), database: other, way: way)
    }

    private static func engine(
        on database: any DatabaseDriver, of store: AppStoreSimulator
    ) throws -> Engine {
        let clock = store.clock
        let client = AppStoreClient(
            AppStoreCredentials(
                keyID: APIKey.wellKnown.id, issuerID: APIKey.wellKnown.issuerID,
                bundleID: ExampleShop.bundleID, sign: APIKey.wellKnownSignature),
            now: { AppStoreDate(milliseconds: clock.milliseconds) }, pacing: .unlimited,
            send: { request in
                let answer = await store.callAPI(
                    request.method, request.path, query: request.query,
                    authorization: request.authorization, body: request.body ?? [],
                    in: request.environment == .sandbox ? .sandbox : .production)
                return AppStoreResponse(
                    status: answer.status, retryAfter: answer.retryAfter, body: answer.body)
            })
        let worker = CheckWorker(
            holder: "server", lease: .seconds(300), checksPerSecond: 1_000_000)
        var reconciliation = ReconciliationSettings(worker: worker) { _ in client }
        reconciliation.canWait = false
        let products = try FullShop.file().products.map { ProductID(rawValue: $0.id) }
        return Engine(
            database: database,
            apps: [
                AppSettings(
                    id: app, bundleID: ExampleShop.bundleID, appAppleID: ExampleShop.appAppleID,
                    isSimulated: true,
                    entitlements: Dictionary(
                        uniqueKeysWithValues: products.map {
                            (EntitlementID(rawValue: $0.rawValue), [$0])
                        }), forwards: ForwardRules(targets: [target]))
            ],
            verifiers: [app: Verifier(roots: try TrustRoots(der: [authority.get().rootDER]))],
            now: { Instant(milliseconds: clock.milliseconds) }, reconciliation: reconciliation,
            logger: Logger(label: "story") { _ in SwiftLogNoOpLogHandler() })
    }

    // MARK: - Acts

    /// Anna buys, and her app posts the purchase.
    func buy(_ product: String) async throws -> String {
        try await store.addDevice(account: "anna")
        let bought = try await store.purchase(
            PurchaseOrder(product, offerID: PurchaseOrder.noOffer), on: "anna-1")
        _ = try await engine.recording.record(
            PurchaseEvidence(signedTransactions: try await store.transactions(on: "anna-1")),
            of: "anna", app: Self.app)
        return bought.originalTransactionID
    }

    /// Anna buys in an app of the previous backend. Returns the purchase's number.
    func buyElsewhere(_ product: String) async throws -> String {
        try await store.addDevice(account: "anna")
        return try await store.purchase(
            PurchaseOrder(product, offerID: PurchaseOrder.noOffer), on: "anna-1"
        ).originalTransactionID
    }

    /// Imports a file that contains only this purchase.
    func bring(_ number: String) async throws {
        let outcome = try await engine.imports.record(
            transaction: number, of: "anna", app: Self.app, in: .production)
        #expect(outcome == .recorded)
        let key = ImportKey(
            app: Self.app, kind: "original-transaction-ids", file: Array(repeating: 1, count: 32))
        for endedAt in [nil, engine.context.serverTime] {
            try await engine.imports.save(ImportPosition(used: 1, endedAt: endedAt), of: key)
        }
    }

    /// Lets time pass. Each hour the server starts a walk if one is due, and sends no other
    /// requests.
    func pass(days: Int = 0, hours: Int = 0, minutes: Int = 0, walks: Bool = true) async throws {
        if minutes > 0 { try await store.advance(by: .seconds(minutes * 60)) }
        for _ in 0..<(days * 24 + hours) {
            try await store.advance(by: .seconds(3600))
            if walks { try await engine.backfill.walkHistory() }
        }
    }

    // MARK: - Checks

    /// Whether the answer about anna equals the books.
    func isTrue() async throws -> Bool {
        let now = Instant(milliseconds: store.clock.milliseconds)
        let state = try await engine.customers.find("anna", app: Self.app, environment: .production)
        let books = try await store.groundTruth(of: "anna").purchases
        return Set(state.purchases.compactMap { PurchaseView($0, at: now) })
            == Set(books.map { PurchaseView($0) })
    }

    func forwardCount() async throws -> Int {
        try await Database(database).read { tx in
            try tx.forwards.all(of: Self.app, in: nil, after: nil, limit: 10_000).count
        }
    }

    func record(_ sent: SentNotification) async throws {
        let body: JSON = ["signedPayload": .string(sent.signedPayload)]
        _ = try await engine.recording.record(notification: body.bytes)
    }

    /// How many of these notifications are not stored.
    func missing(_ sent: [SentNotification]) async throws -> Int {
        let ids = sent.compactMap { sent in
            let bytes = Array(sent.signedPayload.utf8)
            return DocumentDigest(jws: bytes).flatMap { digest in
                Verifier.claimedSigningDate(of: bytes).map {
                    (signedAt: Instant(milliseconds: $0.milliseconds), id: digest.signed)
                }
            }
        }
        let kept = try await Database(database).read { tx in
            try tx.documents.areStored(ids, of: Self.app)
        }
        return kept.count { !$0 }
    }
}

extension ISODuration {
    fileprivate static func seconds(_ count: Int) -> ISODuration {
        ISODuration(milliseconds: Int64(count) * 1000)
    }
}
