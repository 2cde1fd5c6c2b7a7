import AppStoreFormats
import Program
import Simulator
import Testing

/// Notifications of version 1 that do not contain the time of their change. Some of the
/// notifications arrive in order, and some late.
@Suite(.serialized) struct LateNotificationStories {
    /// Anna has bought a month. The server gets only those later notifications that a story
    /// delivers.
    private static func withBuyer(
        questions: LocalStack.Settings.Checks = .none,
        _ story: @escaping @Sendable (Shop) async throws -> Void
    ) async throws {
        try await withShop(
            on: .sqlite, notifies: false, questions: questions, announcements: .v1
        ) { shop in
            _ = try await shop.subscribeByReceipt()
            try await story(shop)
        }
    }

    @Test(arguments: [false, true])
    func `a late notification about a change of product does not override a newer upgrade`(
        isLate: Bool
    ) async throws {
        try await Self.withBuyer { shop in
            try await shop.pass("P3D")
            let down = try await shop.choose("plus.monthly")
            if !isLate {
                try await shop.deliver(down)
                #expect(try await shop.subscription()["renews_to"] == "plus.monthly")
            }
            try await shop.pass("PT2H")
            let up = try await shop.change(
                "change-product", ["product_id": "premium.monthly"],
                told: ["DID_CHANGE_RENEWAL_STATUS", "INTERACTIVE_RENEWAL"])
            try await shop.deliver(up)
            try await shop.pass("PT4H")
            if isLate { try await shop.deliver(down) }
            let subscription = try await shop.subscription()
            #expect(subscription["product_id"] == "premium.monthly")
            #expect(subscription["renews_to"] == "premium.monthly")
        }
    }

    @Test(arguments: [false, true])
    func `a late notification about a change of product does not turn renewal on again`(
        isLate: Bool
    )
        async throws
    {
        try await Self.withBuyer { shop in
            try await shop.pass("P3D")
            let down = try await shop.choose("plus.monthly")
            if !isLate { try await shop.deliver(down) }
            try await shop.pass("PT2H")
            let off = try await shop.change("cancel", told: ["DID_CHANGE_RENEWAL_STATUS"])
            try await shop.deliver(off)
            try await shop.pass("PT4H")
            if isLate { try await shop.deliver(down) }
            #expect(try await shop.subscription()["will_renew"] == false)
            let told = try await shop.told()
            #expect(told.contains("renewal_turned_off"), "\(told)")
            #expect(!told.contains("renewal_turned_on"), "\(told)")
        }
    }

    @Test(arguments: [false, true])
    func `a late notification about a price increase does not revert a newer consent`(isLate: Bool)
        async throws
    {
        try await Self.withBuyer { shop in
            try await shop.pass("P3D")
            let rise = try await shop.change(
                "raise-price", ["price": "12.99"], told: ["PRICE_INCREASE_CONSENT"])
            if !isLate { try await shop.deliver(rise) }
            try await shop.pass("PT1H")
            // Version 1 has no notification of the consent, but later notifications show it.
            _ = try await shop.change("consent", told: [])
            for verb in ["cancel", "resume"] {
                try await shop.pass("PT1H")
                let switched = try await shop.change(verb, told: ["DID_CHANGE_RENEWAL_STATUS"])
                try await shop.deliver(switched)
            }
            try await shop.pass("PT4H")
            if isLate { try await shop.deliver(rise) }
            let told = try await shop.told().filter { $0.hasPrefix("price_increase") }
            let agreed = ["price_increase_agreed"]
            #expect(told == (isLate ? agreed : ["price_increase_announced"] + agreed))
        }
    }

    @Test func `a change of product is found even if renewal was switched off and on before`()
        async throws
    {
        try await Self.withBuyer(questions: .receipts) { shop in
            for verb in ["cancel", "resume"] {
                try await shop.pass("P1D")
                let switched = try await shop.change(verb, told: ["DID_CHANGE_RENEWAL_STATUS"])
                try await shop.deliver(switched)
            }
            try await shop.pass("P1D")
            let down = try await shop.choose("plus.monthly")
            try await shop.deliver(down)
            // The change may be older than the switch of renewal, so the server asks the App
            // Store.
            #expect(try await shop.subscription()["renews_to"] == "pro.monthly")
            try await shop.pass("PT2M")
            #expect(try await shop.subscription()["renews_to"] == "plus.monthly")
        }
    }

    @Test func `a change of product that arrives late does not replace a newer change`()
        async throws
    {
        try await Self.withBuyer(questions: .receipts) { shop in
            try await shop.pass("P3D")
            let first = try await shop.choose("plus.monthly")
            try await shop.pass("PT2H")
            let second = try await shop.choose("pro.yearly")
            try await shop.deliver(second)
            try await shop.pass("PT2M")
            #expect(try await shop.subscription()["renews_to"] == "pro.yearly")
            try await shop.pass("PT4H")
            try await shop.deliver(first)
            #expect(try await shop.subscription()["renews_to"] == "pro.yearly")
            try await shop.pass("PT2M")
            #expect(try await shop.subscription()["renews_to"] == "pro.yearly")
        }
    }
}

extension Shop {
    fileprivate func pass(_ duration: String) async throws {
        try await simulator.post("/_sim/clock", ["advance": .string(duration)])
    }

    /// Changes anna's subscription.
    ///
    /// - Parameter told: the types of the notifications that the change causes, in any order.
    /// - Returns: the notifications as the bodies that are posted.
    fileprivate func change(
        _ verb: String, _ body: JSON = [:], told types: Set<String>
    ) async throws -> [[UInt8]] {
        let before = try await v1Notifications().count
        try await simulator.post("/_sim/subscriptions/anna:pro.monthly/\(verb)", body)
        let bodies = Array(try await v1Notifications().dropFirst(before))
        let found = try bodies.map { try JSON(parsing: $0).text("notification_type") }
        #expect(Set(found) == types)
        return bodies
    }

    /// Chooses a product for the next period. Returns the notifications about it.
    fileprivate func choose(_ product: String) async throws -> [[UInt8]] {
        try await change(
            "change-product", ["product_id": .string(product)], told: ["DID_CHANGE_RENEWAL_PREF"])
    }

    fileprivate func deliver(_ bodies: [[UInt8]]) async throws {
        for body in bodies {
            let answer = try await server.send("POST", "/apple/notifications", body: body)
            #expect(answer.status == 200)
        }
    }

    /// Anna's subscription in the server's answer.
    fileprivate func subscription() async throws -> JSON {
        let customer = try await server.get("/v1/customers/anna")
        return try #require(customer["subscriptions"]?.array?.first)
    }

    /// The types of all events, in their order.
    fileprivate func told() async throws -> [String] {
        let support = Wire(base: server.base, bearer: Self.secretKey)
        let events = try await support.get("/v1/events")["items"]?.array ?? []
        return events.compactMap { $0["type"]?.string }
    }
}
