import AppStoreFormats
import Engine
import Ledger
import Simulator
import Storage
import Testing

@testable import Program

/// When a customer requests a refund, Apple asks how the purchase was used. Compares our response
/// with the simulator's books.
@Suite(.serialized) struct ConsumptionStories {
    static func app(_ rules: ConsumptionRules) -> AppConfiguration {
        var app = birds
        app.settings.consumption = rules
        return app
    }

    static let consenting = ConsumptionRules(
        policy: .withConsent, hasSample: true, preference: .grantProrated)

    static func buy(
        _ product: String, _ account: String, in shop: Shop
    ) async throws -> String {
        let bought = try await shop.simulator.post(
            "/_sim/devices/\(account)-1/purchases", ["product_id": .string(product)])
        try await shop.server.post(
            "/v1/purchases",
            [
                "customer_id": .string(account),
                "signed_transactions": [.string(try bought.text("signed_transaction"))],
            ])
        return try bought.text("transaction_id")
    }

    static func spend(_ amount: Int64, _ account: String, in shop: Shop) async throws {
        _ = try await shop.engine.wallets.book(
            NewBooking(.debit, currency: "seeds", amount: amount, reason: "trees", key: nil),
            of: CustomerID(rawValue: account), app: "birds", environment: .production)
    }

    static func askRefund(of id: String, in shop: Shop) async throws {
        try await shop.simulator.post("/_sim/transactions/\(id)/request-refund")
        try await pass("PT1M", in: shop)
    }

    static func pass(_ duration: String, in shop: Shop) async throws {
        try await shop.simulator.post("/_sim/clock", ["advance": .string(duration)])
    }

    static func consent(
        _ account: String, _ isGiven: Bool = true, uses: [PurchaseUsage] = [], in shop: Shop
    ) async throws {
        _ = try await shop.engine.consumption.record(
            ConsumptionReport(isConsentGiven: isGiven, uses: uses),
            of: CustomerID(rawValue: account), app: "birds", environment: .production)
        try await pass("PT1S", in: shop)
    }

    /// The responses in the simulator's books, in order of arrival.
    static func received(in shop: Shop) async throws -> [JSON] {
        try await shop.simulator.get("/_sim/consumption")["received"]?.array ?? []
    }

    static func asked(
        _ account: String, in shop: Shop
    ) async throws -> [StoredConsumptionInquiry] {
        try await shop.engine.consumption.state(
            of: CustomerID(rawValue: account), app: "birds", environment: .production
        ).inquiries
    }

    static func events(in shop: Shop) async throws -> [String] {
        try await shop.engine.events.list(of: "birds", after: 0, limit: 500)
            .map(\.entry.change.kind.rawValue).filter { $0.hasPrefix("consumption") }
    }

    static func expectSound(_ shop: Shop) async throws {
        let wrong = try await Database(shop.database).read { try $0.consistency.logDifferences() }
        #expect(wrong.first == [])
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after consent, Apple gets the exact percentage of a consumable that was spent`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app(Self.consenting), questions: .due) { shop in
            try await shop.addDevice("anna")
            let first = try await Self.buy("seeds.100", "anna", in: shop)
            let second = try await Self.buy("seeds.100", "anna", in: shop)
            try await Self.spend(130, "anna", in: shop)
            try await Self.askRefund(of: second, in: shop)
            #expect(try await Self.received(in: shop) == [])
            let waiting = try await Self.asked("anna", in: shop)
            #expect(waiting.map(\.state) == [.waiting])
            #expect(waiting[0].lastError == "The customer has not consented.")
            #expect(try await Self.events(in: shop) == ["consumption_requested"])

            try await Self.consent("anna", in: shop)
            let told = try await Self.received(in: shop)
            // The seeds of the first pack are spent first, then thirty of the second.
            let expected: JSON = [
                "customerConsented": true, "sampleContentProvided": true,
                "deliveryStatus": "DELIVERED", "consumptionPercentage": 30_000,
                "refundPreference": "GRANT_PRORATED",
            ]
            #expect(told.map { $0["body"] } == [expected])
            #expect(told[0]["transaction_id"]?.string == second && first != second)
            #expect(told[0]["counts"] == true)
            let answered = try await Self.asked("anna", in: shop)
            #expect(answered.map(\.state) == [.answered] && answered[0].response?.used == 30_000)
            #expect(
                try await Self.events(in: shop) == [
                    "consumption_requested", "consumption_answered",
                ])
            let text = try await shop.engine.customers.explain(
                "anna", app: "birds", environment: .production)
            #expect(text.contains("Our response was delivered, 30.0 % used, with a sample"))
            try await Self.expectSound(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a customer's consent applies to purchases that are linked later`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app(Self.consenting), questions: .due) { shop in
            try await shop.addDevice("anna")
            try await Self.consent("anna", in: shop)
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"])
            try await Self.askRefund(of: try bought.text("transaction_id"), in: shop)
            #expect(try await Self.received(in: shop) == [])
            try await shop.server.post(
                "/v1/purchases",
                [
                    "customer_id": "anna",
                    "signed_transactions": [.string(try bought.text("signed_transaction"))],
                ])
            try await Self.pass("PT1M", in: shop)
            #expect(try await Self.received(in: shop).count == 1)
            #expect(try await Self.asked("anna", in: shop).map(\.state) == [.answered])
        }
    }

    @Test
    func `without consent Apple gets no consumption data, and an event follows after 12 hours`()
        async throws
    {
        try await withShop(on: .sqlite, app: Self.app(Self.consenting), questions: .due) { shop in
            for account in ["anna", "ben"] {
                try await shop.addDevice(account)
                let id = try await Self.buy("seeds.100", account, in: shop)
                if account == "ben" { try await Self.consent("ben", false, in: shop) }
                try await Self.askRefund(of: id, in: shop)
            }
            try await Self.pass("PT11H50M", in: shop)
            #expect(try await Self.asked("anna", in: shop).map(\.state) == [.waiting])
            try await Self.pass("PT20M", in: shop)
            for account in ["anna", "ben"] {
                #expect(try await Self.asked(account, in: shop).map(\.state) == [.withheld])
            }
            // This consent comes after the deadline.
            try await Self.consent("anna", in: shop)
            #expect(try await Self.received(in: shop) == [])
            #expect(
                try await Self.events(in: shop).filter { $0 == "consumption_unanswered" }.count == 2
            )
            try await Self.expectSound(shop)
        }
    }

    @Test func `no consumption request is stored if the policy is to report nothing`()
        async throws
    {
        try await withShop(on: .sqlite, questions: .due) { shop in
            try await shop.addDevice("anna")
            let id = try await Self.buy("seeds.100", "anna", in: shop)
            try await Self.consent("anna", in: shop)
            try await Self.askRefund(of: id, in: shop)
            #expect(try await Self.asked("anna", in: shop) == [])
            #expect(try await Self.received(in: shop) == [])
            #expect(try await Self.events(in: shop) == [])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a consumption response is sent again until an unavailable App Store accepts it`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app(Self.consenting), questions: .due) { shop in
            try await shop.addDevice("anna")
            let id = try await Self.buy("seeds.100", "anna", in: shop)
            try await Self.consent("anna", in: shop)
            try await shop.simulator.post("/_sim/faults", ["api": ["error": 1]])
            try await Self.askRefund(of: id, in: shop)
            try await Self.pass("PT2H", in: shop)
            let failing = try await Self.asked("anna", in: shop)
            #expect(failing[0].state == .waiting && failing[0].attempts >= 1)
            #expect(failing[0].lastError?.contains("unavailable") == true)
            try await shop.simulator.post("/_sim/faults", ["api": ["error": 0]])
            try await Self.pass("PT1H", in: shop)
            #expect(try await Self.asked("anna", in: shop).map(\.state) == [.answered])
            #expect(try await Self.received(in: shop).map { $0["counts"] } == [true])
        }
    }

    @Test
    func `a consumption response is given up, with an event, if the App Store stays unavailable`()
        async throws
    {
        try await withShop(on: .sqlite, app: Self.app(Self.consenting), questions: .due) { shop in
            try await shop.addDevice("anna")
            let id = try await Self.buy("seeds.100", "anna", in: shop)
            try await Self.consent("anna", in: shop)
            try await shop.simulator.post("/_sim/faults", ["api": ["error": 1]])
            try await Self.askRefund(of: id, in: shop)
            for _ in 0..<13 { try await Self.pass("PT1H", in: shop) }
            let question = try #require(try await Self.asked("anna", in: shop).first)
            #expect(question.state == .givenUp && question.attempts >= 10)
            #expect(question.lastError?.contains("unavailable") == true)
            #expect(try await Self.received(in: shop) == [])
            #expect(
                try await Self.events(in: shop) == [
                    "consumption_requested", "consumption_unanswered",
                ])
            try await Self.expectSound(shop)
        }
    }

    @Test
    func `consumption data has the used percentage of a season, and none for a subscription`()
        async throws
    {
        try await withShop(on: .sqlite, app: Self.app(Self.consenting), questions: .due) { shop in
            try await shop.simulator.post("/_sim/clock", ["set": "2027-01-31T12:00:00Z"])
            try await shop.addDevice("anna")
            try await Self.consent("anna", in: shop)
            let month = try await Self.buy("pro.monthly", "anna", in: shop)
            let season = try await Self.buy("season.spring", "anna", in: shop)
            let seeds = try await Self.buy("seeds.100", "anna", in: shop)
            try await Self.consent(
                "anna",
                uses: [
                    PurchaseUsage(
                        transaction: TransactionID(rawValue: seeds), delivery: .serverOutage,
                        used: nil)
                ], in: shop)
            // The season has 90 days. All but some seconds of 9 days have passed.
            try await shop.simulator.post("/_sim/clock", ["set": "2027-02-09T12:00:00Z"])
            for id in [month, season, seeds] { try await Self.askRefund(of: id, in: shop) }
            let bodies = try await Self.received(in: shop).map { $0["body"] }
            #expect(
                bodies.map { $0?["deliveryStatus"]?.string }
                    == ["DELIVERED", "DELIVERED", "UNDELIVERED_SERVER_OUTAGE"])
            let shares = bodies.map { $0?["consumptionPercentage"]?.integer }
            #expect(shares[0] == nil && shares[2] == nil)
            #expect((9_990...10_010).contains(shares[1] ?? 0))
            #expect(
                bodies.map { $0?["refundPreference"]?.string }
                    == ["GRANT_PRORATED", "GRANT_PRORATED", "GRANT_FULL"])
        }
    }

    /// After a restore on another device, the same period has another transaction id.
    @Test
    func `Apple's request is answered even if the app posts the period under a new transaction id`()
        async throws
    {
        try await withShop(on: .sqlite, app: Self.app(Self.consenting), questions: .due) { shop in
            try await shop.addDevice("anna")
            let id = try await Self.buy("pro.monthly", "anna", in: shop)
            try await Self.askRefund(of: id, in: shop)
            try await Self.pass("PT2M", in: shop)
            let device = try await shop.simulator.get("/_sim/devices/anna-1/transactions")
            let signed = try #require(device["signed_transactions"]?.array?.first?.string)
            let payload = try JSON(parsing: CompactJWS(signed)?.payload ?? [])
            let restored = try shop.authority.sign(payload.setting("transactionId", "77"))
            try await shop.server.post(
                "/v1/purchases",
                ["customer_id": "anna", "signed_transactions": [.string(restored)]])
            try await Self.consent("anna", in: shop)
            #expect(try await Self.asked("anna", in: shop).map(\.state) == [.answered])
            #expect(try await Self.received(in: shop).map { $0["transaction_id"]?.string } == [id])
        }
    }

    /// If two snapshots have the same moment, the timeline keeps the transaction id that is last in
    /// text order. This is the original id in the first case and the other id in the second.
    @Test(arguments: ["1", "99"])
    func `if a period has two transaction ids, usage reported for either id is sent to Apple`(
        other: String
    ) async throws {
        try await withShop(on: .sqlite, app: Self.app(Self.consenting), questions: .due) { shop in
            let bought = try await shop.buyMonth("anna")
            let signed = try bought.text("signed_transaction")
            let payload = try JSON(parsing: CompactJWS(signed)?.payload ?? [])
            let restored = try shop.authority.sign(
                payload.setting("transactionId", .string(other)))
            try await shop.server.post(
                "/v1/purchases",
                ["customer_id": "anna", "signed_transactions": [.string(restored)]])
            let use = PurchaseUsage(
                transaction: TransactionID(rawValue: other), delivery: .qualityIssue, used: nil)
            try await Self.consent("anna", uses: [use], in: shop)
            let id = try bought.text("transaction_id")
            try await Self.askRefund(of: id, in: shop)
            let told = try await Self.received(in: shop)
            #expect(told.map { $0["transaction_id"]?.string } == [id])
            #expect(
                told.first?["body"]?["deliveryStatus"]?.string == "UNDELIVERED_QUALITY_ISSUE")
        }
    }

    @Test func `consent is given over HTTP, and Apple's requests can be read over HTTP`()
        async throws
    {
        try await withShop(on: .sqlite, app: Self.app(Self.consenting), questions: .due) { shop in
            try await shop.addDevice("anna")
            let id = try await Self.buy("seeds.100", "anna", in: shop)
            try await Self.askRefund(of: id, in: shop)
            var server = shop.server
            let refused = try await server.send(
                "PUT", "/v1/customers/anna/consumption", body: Array(#"{"consented":true}"#.utf8))
            #expect(refused.status == 403)
            server.bearer = Shop.secretKey
            let body: JSON = [
                "consented": true, "sample_content_provided": false,
                "purchases": [
                    [
                        "transaction_id": .string(id), "delivery": "delivered",
                        "used_percent": .decimal("12.5"),
                    ]
                ],
            ]
            let answer = try await server.send(
                "PUT", "/v1/customers/anna/consumption", body: body.bytes)
            #expect(answer.status == 200)
            try await Self.pass("PT1S", in: shop)
            let told = try await Self.received(in: shop).first?["body"]
            #expect(told?["consumptionPercentage"]?.integer == 12_500)
            #expect(told?["sampleContentProvided"] == false)
            let state = try await server.get("/v1/customers/anna/consumption")
            let request = state["requests"]?.array?.first
            #expect(state["consented"] == true && request?["state"]?.string == "answered")
            #expect(request?["answer"]?["refund_preference"]?.string == "grant_prorated")
            for wrong in [#"{"delivery":"late"}"#, #"{"delivery":"other","used_percent":101}"#] {
                let use = wrong.replacing("{", with: #"{"transaction_id":"1","#)
                let answer = try await server.send(
                    "PUT", "/v1/customers/anna/consumption",
                    body: Array(#"{"consented":true,"purchases":[\#(use)]}"#.utf8))
                #expect(answer.status == 400, "\(wrong)")
            }
        }
    }

    @Test func `if one of two merged customers refused consent, Apple gets no consumption data`()
        async throws
    {
        try await withShop(on: .sqlite, app: Self.app(Self.consenting), questions: .due) { shop in
            try await shop.addDevice("anna")
            let id = try await Self.buy("seeds.100", "anna", in: shop)
            try await Self.consent("anna", in: shop)
            try await Self.consent("ben", false, in: shop)
            _ = try await shop.engine.customers.alias(
                "ben", to: "anna", app: "birds", environment: .production)
            try await Self.askRefund(of: id, in: shop)
            #expect(try await Self.received(in: shop) == [])
            _ = try await shop.engine.customers.erase("anna", app: "birds")
            let state = try await shop.engine.consumption.state(
                of: "anna", app: "birds", environment: .production)
            #expect(state.consent == nil && state.uses == [])
        }
    }
}
