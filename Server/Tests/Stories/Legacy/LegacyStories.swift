import AppStoreFormats
import Engine
import Ledger
import Program
import Simulator
import Storage
import Testing

/// The server gets only formats from before StoreKit 2: receipts, answers of verifyReceipt,
/// notifications of version 1.
@Suite(.serialized) struct LegacyStories {
    /// Version 1 has no notification for some events, and the server asks the App Store only at the
    /// end of the period. For lives with such events, answers are compared with the books only at
    /// the end.
    private static let told = Life.all.filter { life in
        !["reversed", "everything at once", "ended by the store"].contains {
            life.name.contains($0)
        }
    }

    @Test(arguments: Life.all)
    func `with receipts alone, scheduled checks lead to the simulator's answers in the end`(
        life: Life
    )
        async throws
    {
        try await withShop(on: .sqlite, notifies: false, questions: .receipts) { shop in
            let stage = try await shop.play(life, posting: .receipt)
            try await stage.expectTruthInTheEnd()
            try await shop.expectCleanRebuild()
        }
    }

    @Test(arguments: told, StoryDatabase.allCases)
    func `with version 1 notifications and receipts, every answer equals the simulator's answer`(
        life: Life, database: StoryDatabase
    ) async throws {
        try await withShop(on: database, questions: .receipts, announcements: .v1) { shop in
            try await shop.play(life, posting: .receipt, isCompared: true) { stage, _ in
                // Nothing else happens in the millisecond in which the server asked the App Store.
                try await stage.set(clock: try await stage.now() + .seconds(1))
            }
        }
    }

    @Test(arguments: Life.all, [V1Era.year2018, .year2020, .year2021])
    func `with version 1 notifications of 2018, 2020 or 2021, the final answers are correct`(
        life: Life, era: V1Era
    )
        async throws
    {
        try await withShop(
            on: .sqlite, questions: .receipts, announcements: .v1, era: era
        ) { shop in
            let stage = try await shop.play(life, posting: .receipt)
            try await stage.expectTruthInTheEnd()
        }
    }

    @Test(arguments: Life.all, [LocalStack.Settings.NotificationVersions.v1, .both])
    func `if an app posts receipts and signed transactions in turn, the final answers are correct`(
        life: Life, announcements: LocalStack.Settings.NotificationVersions
    ) async throws {
        try await withShop(on: .sqlite, questions: .due, announcements: announcements) { shop in
            let stage = try await shop.play(life, posting: .inTurn) { stage, _ in
                if stage.isPosted { try await stage.play(.restore) { _ in } }
            }
            try await stage.expectTruthInTheEnd()
            try await shop.expectCleanRebuild()
        }
    }

    @Test(arguments: Life.all, StoryDatabase.allCases)
    func `both versions of every notification, shuffled and repeated, lead to correct answers`(
        life: Life, database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false, announcements: .both) { shop in
            let stage = try await shop.play(life)
            let bodies = try await shop.notifications() + shop.v1Notifications()
            try await shop.postTwiceShuffled(bodies, as: "LegacyStories")
            if stage.isPosted { try await stage.compare("at last") }
            try await shop.expectCleanRebuild()
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a version 1 notification sent twice with different receipts is stored once`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, announcements: .v1) { shop in
            try await shop.addDevice(Stage.account)
            // Each attempt except the last one fails, and each has a new receipt.
            try await shop.simulator.post("/_sim/faults", ["notifications": ["drop": 1]])
            try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
            let bodies = try await shop.v1Notifications()
            let first = try #require(bodies.first)
            var copy = try JSON(parsing: first)
            try await shop.simulator.post("/_sim/clock", ["advance": "PT6H"])
            let receipt = try await shop.simulator.get("/_sim/devices/anna-1/receipt")
            copy.replace("latest_receipt", with: .string(try receipt.text("app_receipt")))
            for body in [first, copy.bytes, first] {
                let answer = try await shop.server.send("POST", "/apple/notifications", body: body)
                #expect(answer.status == 200)
            }
            #expect(copy.bytes != first)
            #expect(shop.engine.counts.notificationsRecorded == 1)
            #expect(shop.engine.counts.notificationsRepeated == 2)
        }
    }

    @Test(arguments: [LocalStack.Settings.NotificationVersions.v1, .both])
    func `a version 1 notification that arrives after a refund does not revert the refund`(
        announcements: LocalStack.Settings.NotificationVersions
    ) async throws {
        try await withShop(on: .sqlite, notifies: false, announcements: announcements) { shop in
            let chain = try await shop.subscribeByReceipt()
            try await shop.simulator.post("/_sim/clock", ["advance": "P3D"])
            try await shop.simulator.post(
                "\(chain)/change-product", ["product_id": "plus.monthly"])
            let late = try await shop.v1Notifications().last
            try await shop.simulator.post("/_sim/clock", ["advance": "PT2H"])
            try await shop.simulator.post("\(chain)/refund")
            let refund = try await shop.v1Notifications().last
            try await shop.simulator.post("/_sim/clock", ["advance": "PT4H"])
            for body in [try #require(refund), try #require(late)] {
                let answer = try await shop.server.send("POST", "/apple/notifications", body: body)
                #expect(answer.status == 200)
            }
            #expect(refund != late)
            #expect(try await shop.entitlement("pro", of: "anna")?["state"] == "refunded")
        }
    }

    @Test
    func `a late version 1 notification of a failed payment does not turn renewal on again`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false, announcements: .v1) { shop in
            let chain = try await shop.subscribeByReceipt()
            try await shop.simulator.post("\(chain)/fail-billing")
            try await shop.simulator.post("/_sim/clock", ["advance": "P33D"])
            let failed = try #require(try await shop.v1Notifications().last)
            var copy = try JSON(parsing: failed)
            #expect(copy["notification_type"] == "DID_FAIL_TO_RENEW")
            try await shop.simulator.post("\(chain)/cancel")
            let off = try #require(try await shop.v1Notifications().last)
            #expect(try JSON(parsing: off)["auto_renew_status"] == "false")
            // The next attempt comes after renewal was switched off, and has a new receipt.
            try await shop.simulator.post("/_sim/clock", ["advance": "PT6H"])
            let later = try await shop.simulator.get("/_sim/devices/anna-1/receipt")
            copy.replace("latest_receipt", with: .string(try later.text("app_receipt")))
            for body in [off, copy.bytes] {
                let answer = try await shop.server.send("POST", "/apple/notifications", body: body)
                #expect(answer.status == 200)
            }
            #expect(shop.engine.counts.notificationsRecorded == 2)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == false)
            let support = Wire(base: shop.server.base, bearer: Shop.secretKey)
            let told = try await support.get("/v1/events")["items"]?.array ?? []
            let types = told.compactMap { $0["type"]?.string }
            #expect(types.contains("renewal_turned_off"), "\(types)")
            #expect(!types.contains("renewal_turned_on"), "\(types)")
            #expect(!types.contains("billing_failed"), "\(types)")
        }
    }

    @Test func `an upgrade ends the previous product, even if only receipts report the upgrade`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            try await shop.addDevice(Stage.account)
            for (product, wait) in [("pro.yearly", "P10D"), ("premium.monthly", "P1D")] {
                try await shop.simulator.post(
                    "/_sim/devices/anna-1/purchases", ["product_id": .string(product)])
                try await shop.simulator.post("/_sim/clock", ["advance": .string(wait)])
                let receipt = try await shop.simulator.get("/_sim/devices/anna-1/receipt")
                try await shop.server.post(
                    "/v1/purchases",
                    [
                        "customer_id": "anna",
                        "app_receipt": .string(try receipt.text("app_receipt")),
                    ])
            }
            let pro = try await shop.entitlement("pro", of: "anna")
            #expect(pro?["product_id"] == "premium.monthly")
            try await shop.simulator.post("/_sim/subscriptions/anna:premium.monthly/cancel")
            try await shop.simulator.post("/_sim/clock", ["advance": "P40D"])
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == false)
            let support = Wire(base: shop.server.base, bearer: Shop.secretKey)
            let told = try await support.get("/v1/events")["items"]?.array ?? []
            let types = told.compactMap { $0["type"]?.string }
            #expect(types.contains("upgraded") && !types.contains("resubscribed"), "\(types)")
        }
    }

    @Test
    func `a version 1 notification needs the shared secret, and is stored without the secret`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false, announcements: .v1) { shop in
            try await shop.addDevice(Stage.account)
            try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
            let body = try #require(try await shop.v1Notifications().first)
            var forged = try JSON(parsing: body)
            for password in ["", "c0ffee", "C0FFEE00C0FFEE00C0FFEE00C0FFEE00"] {
                forged.replace("password", with: .string(password))
                let refused = try await shop.server.send(
                    "POST", "/apple/notifications", body: forged.bytes)
                #expect(refused.status == 422)
                #expect(try refused.json["code"] == "notification_not_trusted")
            }
            let kept = try await shop.server.send("POST", "/apple/notifications", body: body)
            #expect(kept.status == 200)
            let documents = try await shop.documents()
            #expect(documents.count == 1)
            let text = String(decoding: try #require(documents.first), as: UTF8.self)
            #expect(!text.contains(SimulatorSettings.wellKnownSecret))
            #expect(text.contains("\"password\":\"\""))
        }
    }
}

extension JSON {
    /// Replaces the value of a member at any depth.
    fileprivate mutating func replace(_ key: String, with value: JSON) {
        guard case .object(var members) = self else { return }
        for index in members.indices {
            if members[index].key == key {
                members[index].value = value
            } else {
                members[index].value.replace(key, with: value)
            }
        }
        self = .object(members)
    }
}

extension Shop {
    /// The stored form of each document.
    fileprivate func documents() async throws -> [[UInt8]] {
        let store = Database(database)
        return try await store.read { try $0.documents.all(of: "birds", after: .start, limit: 500) }
            .map(\.parts)
    }
}
