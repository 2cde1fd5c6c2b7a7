import AppStoreFormats
import AppStoreTrust
import Dice
import Engine
import Ledger
import Logging
import Storage
import Testing

@testable import Program

/// Test purchases that are deleted when they are old: `retention: sandbox_days`.
@Suite(.serialized) struct SandboxRetentionStories {
    /// The example app, whose test purchases stay for 30 days after they ended.
    private static var app: AppConfiguration {
        var app = birds
        app.settings.retention.sandbox = .days(30)
        return app
    }

    /// The tables with rows of purchases, except the tables with the log and with transfers.
    private static let tables = [
        "documents", "facts", "purchases", "purchase_origins", "links", "money_transactions",
        "money_movements", "money_subscriptions",
    ]

    @Test(arguments: StoryDatabase.allCases)
    func `30 days after its end, a test purchase is deleted with its documents and its owner`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app) { shop in
            #expect(try await shop.post(try await shop.buyMonth("anna"), as: "anna") == 200)
            try await shop.buyTest("sam")
            try await shop.advance("P20D")
            let before = try await shop.counts(Self.tables, in: .sandbox)
            #expect(before["purchases"] == 1 && before["links"] == 1, "\(before)")
            try await shop.forget()
            #expect(try await shop.counts(Self.tables, in: .sandbox) == before)

            try await shop.advance("P20D")
            let production = try await shop.counts(Self.tables, in: .production)
            try await shop.forget()
            let after = try await shop.counts(Self.tables, in: .sandbox)
            #expect(after.values.allSatisfy { $0 == 0 }, "\(after)")
            #expect(try await shop.counts(Self.tables, in: .production) == production)
            #expect(try await shop.types(of: "sam").last == "purchase_forgotten")
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            try await shop.expectCleanRebuild()
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if a document of a deleted test purchase arrives, the purchase counts as new`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app) { shop in
            let bought = try await shop.buyTest("sam")
            try await shop.advance("P40D")
            try await shop.forget()
            let sequence = try await shop.types(of: "sam").count
            #expect(try await shop.post(bought, as: "sam") == 200)
            let new = try await shop.types(of: "sam").dropFirst(sequence)
            #expect(new.contains("linked") || new.contains("purchased"), "\(new)")
            #expect(try await shop.counts(Self.tables, in: .sandbox)["purchases"] == 1)
            try await shop.expectCleanRebuild()
            // The document has just arrived.
            try await shop.forget()
            #expect(try await shop.counts(Self.tables, in: .sandbox)["purchases"] == 1)
            try await shop.advance("P31D")
            try await shop.forget()
            #expect(try await shop.counts(Self.tables, in: .sandbox)["documents"] == 0)
            try await shop.expectCleanRebuild()
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `open and consumable test purchases stay, and so do others on the same receipt`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app) { shop in
            try await shop.addDevice("sam", ["environment": "sandbox"])
            _ = try await shop.buy("pro.monthly", on: "sam-1")
            let seeds = try await shop.buy("seeds.100", on: "sam-1")
            try await shop.server.post(
                "/v1/purchases",
                ["customer_id": "sam", "app_receipt": .string(try seeds.text("app_receipt"))])
            try await shop.buyTest("tess")
            try await shop.advance("P40D")
            let balance = try await shop.wallets(of: "sam")
            try await shop.forget()
            // The subscription of tess is deleted, that of sam is named by the receipt.
            let left = try await shop.purchases(in: .sandbox)
            #expect(left.contains(try seeds.text("original_transaction_id")), "\(left)")
            #expect(try await shop.types(of: "tess").last == "purchase_forgotten")
            #expect(try await !shop.types(of: "sam").contains("purchase_forgotten"))
            #expect(try await shop.wallets(of: "sam") == balance)
            try await shop.expectCleanRebuild()
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if two servers delete test purchases at once, each purchase has one last event`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app) { shop in
            let names = (1...8).map { "tester\($0)" }
            for name in names { try await shop.buyTest(name) }
            try await shop.advance("P40D")
            let second = try database.open(shop.address)
            defer { second.close() }
            let roots = try TrustRoots(der: [shop.authority.rootDER])
            let other = Engine(
                database: second, apps: [Self.app.settings],
                verifiers: ["birds": Verifier(roots: roots)],
                now: { shop.engine.context.serverTime },
                logger: Logger(label: "story") { _ in SwiftLogNoOpLogHandler() })
            async let one: Void = shop.forget()
            async let two: Void = shop.forget(by: other)
            _ = try await (one, two)
            for name in names {
                let types = try await shop.types(of: name)
                #expect(types.count { $0 == "purchase_forgotten" } == 1, "\(name): \(types)")
            }
            #expect(try await shop.counts(Self.tables, in: .sandbox)["documents"] == 0)
            try await shop.expectCleanRebuild()
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: StoryDatabase.allCases)
    func `deleting test purchases changes no production row and no answer about access`(
        database: StoryDatabase
    ) async throws {
        let seed = Dice.seed(announcedBy: "SandboxRetentionStories", usual: 1)
        try await withShop(on: database, app: Self.app, seed: seed) { shop in
            var dice = Dice(seed: seed)
            var names: [String] = []
            for round in 1...6 {
                for number in 1...3 {
                    let name = "person\(round)x\(number)"
                    let isTest = number == 1 || Bool.random(using: &dice)
                    try await shop.live(as: name, isTest: isTest, &dice)
                    names.append(name)
                }
                try await shop.advance("P\(Int.random(in: 3...40, using: &dice))D")
                try await shop.expectHarmlessDeletion(names, "round \(round), seed \(seed)")
            }
            try await shop.advance("P60D")
            try await shop.expectHarmlessDeletion(names, "at last, seed \(seed)")
            var deleted = 0
            for name in names where try await shop.types(of: name).contains("purchase_forgotten") {
                deleted += 1
            }
            #expect(deleted > 0, "seed \(seed)")
        }
    }
}

extension Shop {
    private static let otherProducts = ["seeds.100", "season.spring"]
    /// The tables whose rows in production are compared, each with its key.
    private static let compared = [
        ("documents", "id"), ("facts", "statement"), ("purchases", "timeline"),
    ]

    /// Deletes all test purchases that are old enough.
    fileprivate func forget(by engine: Engine? = nil) async throws {
        let engine = engine ?? self.engine
        while try await engine.retention.forgetSandboxPurchases() > 0 {}
    }

    /// Moves the clock, and does all the work that is due then.
    fileprivate func advance(_ duration: String) async throws {
        try await simulator.post("/_sim/clock", ["advance": .string(duration)])
        while try await engine.events.emitTimeBased() > 0 {}
        while try await engine.reporting.fillMoney() > 0 {}
        while try await engine.reporting.addUpMoney() > 0 {}
    }

    fileprivate func buy(_ product: String, on device: String) async throws -> JSON {
        try await simulator.post(
            "/_sim/devices/\(device)/purchases", ["product_id": .string(product)])
    }

    /// A tester subscribes in the sandbox, and the app posts the purchase.
    @discardableResult
    fileprivate func buyTest(_ account: String) async throws -> JSON {
        try await addDevice(account, ["environment": "sandbox"])
        let bought = try await buy("pro.monthly", on: "\(account)-1")
        #expect(try await post(bought, as: account) == 200)
        return bought
    }

    /// The types of all events of a customer.
    fileprivate func types(of customer: String) async throws -> [String] {
        _ = try await engine.events.numberEvents()
        let list = try await support.get("/v1/events?customer_id=\(customer)&limit=200")
        return (list["items"]?.array ?? []).compactMap { $0["type"]?.string }
    }

    fileprivate func wallets(of customer: String) async throws -> JSON? {
        try await server.get("/v1/customers/\(customer)?environment=sandbox")["wallets"]
    }

    /// The number of rows of each table in an environment.
    fileprivate func counts(
        _ tables: [String], in environment: Ledger.Environment
    ) async throws -> [String: Int64] {
        try await database.read { connection in
            var counts: [String: Int64] = [:]
            for table in tables {
                counts[table] = try connection.number(
                    "SELECT count(*) FROM \(table) WHERE environment = $1",
                    [.text(environment.rawValue)])
            }
            return counts
        }
    }

    fileprivate func purchases(in environment: Ledger.Environment) async throws -> [String] {
        try await database.read { connection in
            try connection.texts(
                "SELECT purchase FROM purchases WHERE environment = $1 ORDER BY purchase",
                [.text(environment.rawValue)])
        }
    }

    /// A person buys one or two products, and possibly cancels or gets a refund.
    fileprivate func live(as name: String, isTest: Bool, _ dice: inout Dice) async throws {
        try await addDevice(name, isTest ? ["environment": "sandbox"] : [:])
        // The first product of each life ends, so that something is deleted.
        var products = ["pro.monthly"]
        if Bool.random(using: &dice) {
            products.append(Self.otherProducts.randomElement(using: &dice) ?? "seeds.100")
        }
        for product in products {
            let answer = try await simulator.send(
                "POST", "/_sim/devices/\(name)-1/purchases",
                body: (["product_id": .string(product)] as JSON).bytes)
            // The account may have the subscription already.
            guard answer.status < 300 else { continue }
            let bought = try JSON(parsing: answer.body)
            let isReceipt = Int.random(in: 0..<4, using: &dice) == 0
            let document = try bought.text(isReceipt ? "app_receipt" : "signed_transaction")
            let key = isReceipt ? "app_receipt" : "signed_transactions"
            try await server.post(
                "/v1/purchases",
                [
                    "customer_id": .string(name),
                    key: isReceipt ? .string(document) : [.string(document)],
                ])
        }
        guard let verb = ["cancel", "refund", nil].randomElement(using: &dice) ?? nil else {
            return
        }
        try await simulator.post("/_sim/subscriptions/\(name):pro.monthly/\(verb)")
    }

    /// Deletes what is old, and expects that this changes nothing in production, opens and closes
    /// nothing, changes no balance, and that a rebuild finds no difference.
    fileprivate func expectHarmlessDeletion(_ names: [String], _ moment: String) async throws {
        let (rows, answers) = (try await productionRows(), try await standing(of: names))
        try await forget()
        #expect(try await productionRows() == rows, "\(moment)")
        #expect(try await standing(of: names) == answers, "\(moment)")
        try await expectCleanRebuild()
    }

    private func productionRows() async throws -> [[[UInt8]]] {
        try await database.read { connection in
            var all: [[[UInt8]]] = []
            for (table, column) in Self.compared {
                all.append(
                    try connection.rows(
                        "SELECT \(column) FROM \(table) WHERE environment = 'production' "
                            + "ORDER BY \(column)", []
                    ) { row throws(StorageFailure) in try row.bytes() })
            }
            return all
        }
    }

    /// What is open for customers in both environments, and their balances.
    private func standing(of names: [String]) async throws -> [String] {
        var found: [String] = []
        for name in names {
            for environment in Ledger.Environment.allCases {
                let answer = try await server.get(
                    "/v1/customers/\(name)?environment=\(environment.rawValue)")
                for member in answer["entitlements"]?.members ?? []
                where member.value["active"] == true {
                    found.append("\(environment) \(name) \(member.key)")
                }
                found.append("\(environment) \(name) \(answer["wallets"]?.text ?? "")")
            }
        }
        return found
    }
}
