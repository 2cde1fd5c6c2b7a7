import AppStoreFormats
import Eventually
import Ledger
import Storage
import Testing

/// What the server finds out without notifications, because it asks the App Store.
@Suite(.serialized) struct ReconciliationStories {
    private static let apiFails: JSON = ["api": ["retryable_error": 1]]
    private static let apiWorks: JSON = ["api": ["retryable_error": 0]]

    @Test(arguments: Life.all)
    func `if every notification is lost, each change is known within the hour`(life: Life)
        async throws
    {
        try await withShop(on: .sqlite, notifies: false, questions: .all) { shop in
            try await shop.play(life) { stage, act in
                try await stage.play(.pass("PT1H1M")) { _ in }
                try await stage.compare("an hour after \(act)")
            }
        }
    }

    @Test(arguments: Life.all)
    func `without any notification, scheduled checks make the final answer correct`(life: Life)
        async throws
    {
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            try await shop.play(life).expectTruthInTheEnd()
        }
    }

    @Test(arguments: Life.all)
    func `if the App Store's API is down, notifications alone lead to correct answers`(life: Life)
        async throws
    {
        try await withShop(on: .sqlite, questions: .all) { shop in
            try await shop.simulator.post("/_sim/faults", Self.apiFails)
            try await shop.play(life, isCompared: true)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if notifications and the API fail, payers keep access until both work again`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, questions: .all) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            try await stage.play(.buy("pro.monthly")) { _ in }
            try await stage.play(.pass("P30DT12H")) { _ in }
            try await shop.simulator.post("/_sim/faults", ["notifications": ["drop": 1]])
            try await shop.simulator.post("/_sim/faults", Self.apiFails)
            for _ in 0..<44 {
                try await stage.set(clock: try await stage.now() + .seconds(1800))
                let isOpen = try await shop.entitlement("pro", of: Stage.account)?["state"]?.string
                #expect(isOpen == "paid" || isOpen == "unconfirmed")
            }
            #expect(try await stage.answer().map(\.state) == ["unconfirmed"])
            try await shop.simulator.post("/_sim/faults", Self.apiWorks)
            for _ in 0..<60 { try await stage.set(clock: try await stage.now() + .seconds(60)) }
            try await stage.compare("an hour after")
            #expect(try await stage.answer().map(\.state) == ["paid"])
        }
    }

    @Test func `a purchase that becomes known after 200 days has all seven periods`() async throws {
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            try await stage.play(.buyUnheard("pro.monthly")) { _ in }
            try await stage.play(.pass("P200D")) { _ in }
            try await stage.play(.restore) { _ in }
            try await stage.play(.pass("PT1M")) { _ in }
            let known = try await shop.engine.customers.find(
                "anna", app: "birds", environment: .production)
            #expect(known.purchases.first?.timeline.periods.count == 7)
        }
    }

    @Test
    func
        `after an outage longer than Apple's history, only the length of the history is requested`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false, questions: .all) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            try await stage.play(.buy("pro.monthly")) { _ in }
            try await stage.play(.pass("PT2H")) { _ in }
            #expect(try await Self.historyAnswers(shop.simulator).last == 200)
            try await shop.simulator.post("/_sim/faults", Self.apiFails)
            try await stage.play(.pass("P200D")) { _ in }
            #expect(try await Self.historyAnswers(shop.simulator).last == 500)
            try await shop.simulator.post("/_sim/faults", Self.apiWorks)
            try await stage.play(.pass("PT20M")) { _ in }
            #expect(try await Self.historyAnswers(shop.simulator).last == 200)
            try await stage.compare("after two hundred days")
        }
    }

    /// The status of each request for missed notifications of the production environment.
    private static func historyAnswers(_ simulator: Wire) async throws -> [Int64] {
        let entries = try await simulator.get("/_sim/log")["entries"]?.array ?? []
        return entries.filter {
            $0["what"] == "call" && $0["environment"] == "production"
                && $0["endpoint"]?.string?.hasSuffix("notifications/history") == true
        }.compactMap { $0["status"]?.integer }
    }

    @Test
    func `metrics show the age of overdue checks, and no check is overdue after the outage`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false, questions: .all) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            try await stage.play(.buy("pro.monthly")) { _ in }
            try await stage.play(.pass("PT2H")) { _ in }
            #expect(try await Self.gauge("due", shop.server) == 0)
            #expect(try await Self.gauge("failures_in_a_row", shop.server) == 0)
            try await shop.simulator.post("/_sim/faults", Self.apiFails)
            try await stage.play(.pass("P30DT22H")) { _ in }
            // Some time after the period's end the check is due, but requests are paused.
            var age = 0.0
            for _ in 0..<60 where age == 0 {
                try await stage.play(.pass("PT4M")) { _ in }
                age = try await Self.gauge("oldest_due_seconds", shop.server)
            }
            #expect(age > 0)
            #expect(try await Self.gauge("due", shop.server) == 1)
            #expect(try await Self.gauge("failures_in_a_row", shop.server) > 3)
            try await shop.simulator.post("/_sim/faults", Self.apiWorks)
            for _ in 0..<4 { try await stage.play(.pass("PT15M")) { _ in } }
            #expect(try await Self.gauge("due", shop.server) == 0)
            #expect(try await Self.gauge("failures_in_a_row", shop.server) == 0)
        }
    }

    private static func gauge(_ name: String, _ server: Wire) async throws -> Double {
        let text = String(decoding: try await server.send("GET", "/metrics").body, as: UTF8.self)
        let line = text.split(separator: "\n").first {
            $0.hasPrefix("perennial_checks_\(name){") && $0.contains("production")
        }
        let number = line?.split(separator: " ").last.flatMap { Double($0) }
        return try #require(number, "no gauge \(name) in \(text)")
    }

    @Test func `a manual reconcile checks one customer, or everything that is due`() async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await StoryDatabase.sqlite.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: .sqlite, address,
                    leaseSeconds: 5)
                try await shop.addDevice(Stage.account)
                let bought = try await shop.simulator.post(
                    "/_sim/devices/\(Stage.device)/purchases", ["product_id": "pro.monthly"])
                let original = try bought.text("original_transaction_id")
                let server = try await program.start()
                var app = server.wire
                app.bearer = program.key
                let posted: JSON = [
                    "customer_id": .string(Stage.account),
                    "signed_transactions": [.string(try bought.text("signed_transaction"))],
                ]
                try await app.post("/v1/purchases", posted)
                server.kill()
                // While no server runs, renewal is switched off, and no notification is sent.
                try await shop.simulator.post("/_sim/subscriptions/\(original)/cancel")
                // The server may have been killed during a check, and then the check's lease must
                // expire first.
                try await eventually("the command reconciles the customer") {
                    let one = try await program.run(["reconcile", "--customer", Stage.account])
                    return one.status == 0 && one.output.contains("answered with")
                }
                #expect(try await program.willRenew(original) == false)
                let none = try await program.run(["reconcile", "--customer", "nobody"])
                #expect(none.status == 0 && none.output.contains("no known purchases"))
                let all = try await program.run(["reconcile"])
                #expect(all.status == 0, "\(all.output)")
                #expect(all.output.contains("birds production: 0 due"), "\(all.output)")
            }
        }
    }
}

extension ServerProgram {
    /// The renewal state of a chain in the rows; nil if the rows have none.
    fileprivate func willRenew(_ original: String) async throws -> Bool? {
        let store = Database(try engine.open(database))
        let purchase = PurchaseID(TransactionID(rawValue: original), in: .production)
        let timeline = try await store.read { try $0.purchases.timeline(of: purchase, in: "birds") }
        store.driver.close()
        return timeline?.renewal?.value.willRenew
    }
}
