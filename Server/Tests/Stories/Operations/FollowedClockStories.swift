import AppStoreFormats
import Eventually
import Ledger
import Storage
import Testing

/// A server that gets its time from a simulator in another process.
@Suite(.serialized) struct FollowedClockStories {
    @Test(.timeLimit(.minutes(10)))
    func `after a jump of the simulator's clock, no document is refused as signed in the future`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let simulator = shop.simulator
            let program = try await ServerProgram(
                folder: folder, simulator: simulator, on: .sqlite, folder.path + "/p.sqlite")
            let server = try await program.start()
            try await simulator.post(
                "/_sim/reset",
                ["notification_url": .string(server.wire.base + "/apple/notifications")])
            try await shop.addDevice("anna")
            let bought = try await simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
            var asking = server.wire
            asking.bearer = program.key
            try await asking.post(
                "/v1/purchases",
                [
                    "customer_id": "anna",
                    "signed_transactions": [.string(try bought.text("signed_transaction"))],
                ])
            try await simulator.post("/_sim/clock", ["advance": "P40D"])
            let told = try await simulator.get("/_sim/notifications")["notifications"]
            let statuses = (told?.array ?? []).flatMap { $0["attempts"]?.array ?? [] }
                .map { $0["status"]?.integer }
            #expect(statuses == [200, 200], "SUBSCRIBED, DID_RENEW")

            let explained = try await program.run([
                "explain", "anna", "--clock-from", simulator.base,
            ])
            server.kill()
            #expect(explained.status == 0)
            #expect(explained.output.contains("pro: open"), "\(explained.output)")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `reconcile --clock-from uses the simulator's time instead of the machine's`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .sqlite,
                folder.path + "/p.sqlite", leaseSeconds: 5)
            let bought = try await shop.buyMonth("anna")
            let server = try await program.start()
            var app = server.wire
            app.bearer = program.key
            try await app.post(
                "/v1/purchases",
                [
                    "customer_id": "anna",
                    "signed_transactions": [.string(try bought.text("signed_transaction"))],
                ])
            server.kill()
            try await shop.simulator.post("/_sim/clock", ["advance": "PT1H"])
            let now = try await Stage(simulator: shop.simulator, server: shop.server).now()
            // The server may have been killed during a check, and then the check's lease must
            // expire first.
            try await eventually("the command reconciles anna") {
                let one = try await program.run(
                    ["reconcile", "--customer", "anna", "--clock-from", shop.simulator.base])
                return one.status == 0 && one.output.contains("answered with")
            }
            let original = try bought.text("original_transaction_id")
            #expect(try await program.askedAt(original) == now)
            let all = try await program.run(["reconcile", "--clock-from", shop.simulator.base])
            #expect(all.status == 0 && all.output.contains("birds production: 0 due"))
            #expect(!all.output.contains("machine's clock"), "\(all.output)")
        }
    }
}

extension ServerProgram {
    /// When the server last asked the App Store about a purchase.
    fileprivate func askedAt(_ original: String) async throws -> Instant? {
        let store = Database(try engine.open(database))
        let purchase = PurchaseID(TransactionID(rawValue: original), in: .production)
        let known = try await store.read { try $0.checks.history(of: purchase, in: "birds") }
        store.driver.close()
        return known?.history.askedAt
    }
}
