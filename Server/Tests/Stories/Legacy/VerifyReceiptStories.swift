import AppStoreFormats
import Program
import Simulator
import Testing

/// Sends the same requests to our verifyReceipt and to the simulator's, and compares the answers.
@Suite(.serialized) struct VerifyReceiptStories {
    private static let lives = Life.all.filter { life in
        ["a month, renewed", "a trial becomes", "upgraded in the middle", "refunded within"]
            .contains { life.name.hasPrefix($0) }
    }

    @Test func `the verifyReceipt tests cover four purchase histories`() {
        #expect(Self.lives.count == 4)
    }

    @Test(arguments: lives)
    func `in four purchase histories, our verifyReceipt answers like the simulator's verifyReceipt`(
        life: Life
    )
        async throws
    {
        try await withShop(on: .sqlite, questions: .receipts, announcements: .v1) { shop in
            try await shop.play(life, posting: .receipt) { _, act in
                let device = try await shop.simulator.get(
                    "/_sim/devices/\(Stage.device)/receipt")
                let question: JSON = [
                    "receipt-data": .string(try device.text("app_receipt")),
                    "password": .string(SimulatorSettings.wellKnownSecret),
                ]
                let apple = try await shop.simulator.post("/verifyReceipt", question)
                let ours = try await shop.server.post("/verifyReceipt", question)
                #expect(settled(ours) == settled(apple), "\(act)")
            }
        }
    }

    private static let changes: [(verb: String, body: JSON)] = [
        ("extend", ["days": 20, "reason": 0]),
        ("change-product", ["product_id": "premium.monthly"]), ("refund", [:]),
    ]

    @Test(arguments: changes.indices)
    func `verifyReceipt's rows for an older receipt include changes from later notifications`(
        change: Int
    ) async throws {
        try await withShop(on: .sqlite) { shop in
            try await shop.addDevice("anna")
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
            let receipt = try await shop.simulator.get("/_sim/devices/anna-1/receipt")
            try await shop.simulator.post("/_sim/clock", ["advance": "P3D"])
            let chain = try bought.text("original_transaction_id")
            let (verb, body) = Self.changes[change]
            try await shop.simulator.post("/_sim/subscriptions/\(chain)/\(verb)", body)
            let question: JSON = [
                "receipt-data": .string(try receipt.text("app_receipt")),
                "password": .string(SimulatorSettings.wellKnownSecret),
            ]
            let apple = try await shop.simulator.post("/verifyReceipt", question)
            let ours = try await shop.server.post("/verifyReceipt", question)
            #expect(try Self.rows(ours) == Self.rows(apple))
            #expect(try !Self.rows(ours).isEmpty)
        }
    }

    @Test(arguments: [LocalStack.Settings.Checks.none, .receipts])
    func `verifyReceipt adds later purchases only of the store account that the receipt is from`(
        questions: LocalStack.Settings.Checks
    ) async throws {
        try await withShop(on: .sqlite, questions: questions, announcements: .both) { shop in
            let question = try await shop.questionOfPayer()
            try await shop.server.post("/verifyReceipt", question)
            try await shop.simulator.post("/_sim/clock", ["advance": "PT1H"])
            let guide = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "guide"])
            try await shop.addDevice("ben")
            for product in ["pro.yearly", "guide"] {
                try await shop.simulator.post(
                    "/_sim/devices/ben-1/purchases", ["product_id": .string(product)])
            }
            // Two store accounts of the same customer.
            for account in ["anna", "ben"] {
                let receipt = try await shop.question(of: account).text("receipt-data")
                try await shop.server.post(
                    "/v1/purchases", ["customer_id": "anna", "app_receipt": .string(receipt)])
            }
            let id = try guide.text("transaction_id")
            for isRefunded in [false, true] {
                if isRefunded {
                    try await shop.simulator.post("/_sim/clock", ["advance": "P3D"])
                    try await shop.simulator.post("/_sim/transactions/\(id)/refund")
                }
                let apple = try await shop.simulator.post("/verifyReceipt", question)
                let ours = try await shop.server.post("/verifyReceipt", question)
                #expect(try Self.rows(ours) == Self.rows(apple))
                #expect(try Self.rows(ours).count == 2)
            }
        }
    }

    /// The time at which each row ends.
    private static func rows(_ answer: JSON) throws -> [String: [String?]] {
        try (answer["latest_receipt_info"]?.array ?? []).reduce(into: [:]) { rows, row in
            rows[try row.text("transaction_id")] = [
                "expires_date_ms", "cancellation_date_ms", "is_upgraded",
            ].map { row[$0]?.string }
        }
    }

    @Test
    func `a sandbox receipt gets status 21007 at /verifyReceipt, and 0 at /sandbox/verifyReceipt`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            try await shop.addDevice("anna", ["environment": "sandbox"])
            try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
            let device = try await shop.simulator.get("/_sim/devices/anna-1/receipt")
            let question: JSON = [
                "receipt-data": .string(try device.text("app_receipt")),
                "password": .string(SimulatorSettings.wellKnownSecret),
            ]
            let refused = try await shop.server.post("/verifyReceipt", question)
            #expect(refused == ["status": 21007])
            let answered = try await shop.server.post("/sandbox/verifyReceipt", question)
            #expect(answered["status"] == 0 && answered["environment"] == "Sandbox")
        }
    }

    @Test
    func `for a transaction receipt of iOS 6, verifyReceipt answers like the simulator`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            try await shop.addDevice("anna")
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
            let id = try bought.text("transaction_id")
            let receipt = try await shop.simulator.get("/_sim/transactions/\(id)/receipt")
            let question: JSON = [
                "receipt-data": .string(try receipt.text("transaction_receipt")),
                "password": .string(SimulatorSettings.wellKnownSecret),
            ]
            for isOver in [false, true] {
                if isOver {
                    let chain = try bought.text("original_transaction_id")
                    try await shop.simulator.post("/_sim/subscriptions/\(chain)/cancel")
                    try await shop.simulator.post("/_sim/clock", ["advance": "P40D"])
                }
                let apple = try await shop.simulator.post("/verifyReceipt", question)
                let ours = try await shop.server.post("/verifyReceipt", question)
                for key in ["status", "receipt", "auto_renew_status", "auto_renew_product_id"] {
                    #expect(ours[key] == apple[key], "\(key)")
                }
                for key in ["latest_receipt_info", "latest_expired_receipt_info"] {
                    #expect(
                        ours[key]?["transaction_id"] == apple[key]?["transaction_id"], "\(key)")
                }
            }
        }
    }

    /// Omits the fields that change with each response, and the reason of the cancellation, which
    /// we do not store.
    private func settled(_ json: JSON) -> JSON {
        switch json {
        case .object(let members):
            let kept = members.filter {
                !$0.key.hasPrefix("request_date")
                    && !["latest_receipt", "cancellation_reason"].contains($0.key)
            }
            return .object(
                kept.map { JSON.Member($0.key, settled($0.value)) }.sorted { $0.key < $1.key })
        case .array(let values): return .array(values.map(settled))
        default: return json
        }
    }
}
