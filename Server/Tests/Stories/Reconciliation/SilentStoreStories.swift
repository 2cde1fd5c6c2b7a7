import AppStoreFormats
import Simulator
import Testing

/// Our verifyReceipt while Apple is slow or does not respond. No customer who has paid is told that
/// the subscription has ended.
@Suite(.serialized) struct SilentStoreStories {
    private static let unavailable: JSON = ["status": 21005]
    private static let works: JSON = ["api": [:]]

    @Test(arguments: StoryDatabase.allCases)
    func `simultaneous verifyReceipt requests for a new receipt all get the complete answer`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false, questions: .receipts) { shop in
            let question = try await shop.questionOfPayer()
            try await shop.simulator.post("/_sim/clock", ["advance": "P32D"])
            let slow: JSON = ["api": ["slow": 1, "slow_seconds": 1]]
            try await shop.simulator.post("/_sim/faults", slow)
            let answers = try await withThrowingTaskGroup(of: JSON.self) { callers in
                for _ in 0..<6 {
                    callers.addTask { try await shop.server.post("/verifyReceipt", question) }
                }
                return try await callers.reduce(into: [JSON]()) { $0.append($1) }
            }
            try await shop.simulator.post("/_sim/faults", Self.works)
            let apple = try await shop.simulator.post("/verifyReceipt", question)
            #expect(apple["latest_receipt_info"]?.array?.count == 2)
            for answer in answers {
                #expect(answer["status"] == 0)
                #expect(answer["latest_receipt_info"] == apple["latest_receipt_info"])
            }
        }
    }

    @Test
    func `verifyReceipt answers unavailable for a new receipt while Apple does not respond`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false, questions: .receipts) { shop in
            let question = try await shop.questionOfPayer()
            try await shop.simulator.post("/_sim/clock", ["advance": "P32D"])
            let outage: JSON = ["api": ["outage": ["days": 1]]]
            try await shop.simulator.post("/_sim/faults", outage)
            for _ in 1...2 {
                let answer = try await shop.server.post("/verifyReceipt", question)
                #expect(answer == Self.unavailable)
            }
            try await shop.simulator.post("/_sim/faults", Self.works)
            let answer = try await shop.server.post("/verifyReceipt", question)
            let apple = try await shop.simulator.post("/verifyReceipt", question)
            #expect(answer["status"] == 0)
            #expect(answer["latest_receipt_info"] == apple["latest_receipt_info"])
        }
    }

    @Test
    func `if Apple does not know a purchase, verifyReceipt stops asking after three requests`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let question = try await shop.questionOfPayer()
            try await shop.simulator.post("/_sim/faults", ["api": ["not_found": 1]])
            var failed: [Substring?] = []
            for _ in 1...6 {
                try await shop.server.post("/verifyReceipt", question)
                let metrics = try await shop.server.send("GET", "/metrics").body
                failed.append(
                    String(decoding: metrics, as: UTF8.self).split(separator: "\n").first {
                        $0.hasPrefix("perennial_checks_total{result=\"failed\"}")
                    })
            }
            #expect(failed[2]?.hasSuffix(" 3") == true)
            #expect(failed[5] == failed[2])
        }
    }

    /// Anna's month has ended, and Apple does not respond.
    private static let silence: JSON = [
        "api": ["outage": ["days": 3]], "notifications": ["outage": ["days": 3]],
    ]
    private static let speech: JSON = ["api": [:], "notifications": [:]]

    private static func fallSilent(_ shop: Shop) async throws {
        try await shop.simulator.post("/_sim/clock", ["advance": "P30D"])
        try await shop.simulator.post("/_sim/faults", Self.silence)
        try await shop.simulator.post("/_sim/clock", ["advance": "P1DT2H"])
        #expect(try await shop.entitlement("pro", of: "anna")?["state"] == "unconfirmed")
    }

    private static func post(_ question: JSON, _ shop: Shop) async throws {
        try await shop.server.post(
            "/v1/purchases",
            [
                "customer_id": "anna", "app_receipt": .string(try question.text("receipt-data")),
            ])
    }

    @Test func `verifyReceipt says unavailable, not expired, for an unconfirmed subscription`()
        async throws
    {
        try await withShop(on: .sqlite, questions: .receipts, announcements: .v1) { shop in
            let question = try await shop.questionOfPayer()
            try await Self.post(question, shop)
            #expect(try await shop.server.post("/verifyReceipt", question)["status"] == 0)
            try await Self.fallSilent(shop)
            #expect(try await shop.server.post("/verifyReceipt", question) == Self.unavailable)
            try await shop.simulator.post("/_sim/faults", Self.speech)
            try await shop.simulator.post("/_sim/clock", ["advance": "PT2H"])
            let answer = try await shop.server.post("/verifyReceipt", question)
            let apple = try await shop.simulator.post("/verifyReceipt", question)
            #expect(answer["status"] == 0)
            #expect(answer["latest_receipt_info"] == apple["latest_receipt_info"])
        }
    }

    @Test
    func `without an App Store key, verifyReceipt shows an unconfirmed subscription as in grace`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let question = try await shop.questionOfPayer()
            try await Self.post(question, shop)
            try await Self.fallSilent(shop)
            let held = try await shop.entitlement("pro", of: "anna")?.text("until")
            let answer = try await shop.server.post("/verifyReceipt", question)
            #expect(answer["status"] == 0)
            let renewal = try #require(answer["pending_renewal_info"]?.array?.first)
            #expect(renewal["auto_renew_status"] == "1")
            #expect(renewal["is_in_billing_retry_period"] == "1")
            let grace = try renewal.text("grace_period_expires_date")
            #expect(grace.prefix(10) == held?.prefix(10))
        }
    }
}

extension Shop {
    /// Anna buys a month, and her receipt is checked. Returns the request.
    func questionOfPayer() async throws -> JSON {
        try await addDevice("anna")
        try await simulator.post(
            "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
        return try await question(of: "anna")
    }

    /// The verifyReceipt request for the current receipt of an account's first device.
    func question(of account: String) async throws -> JSON {
        let device = try await simulator.get("/_sim/devices/\(account)-1/receipt")
        return [
            "receipt-data": .string(try device.text("app_receipt")),
            "password": .string(SimulatorSettings.wellKnownSecret),
        ]
    }
}
