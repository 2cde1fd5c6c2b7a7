import AppStoreFormats
import Testing

/// A server that takes the time from a simulator in another process.
@Suite(.serialized) struct FollowedClockStories {
    @Test(.timeLimit(.minutes(45)))
    func `after a jump of the clock nothing is refused as signed in the future`() async throws {
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

            let explained = try program.run(["explain", "anna", "--clock-from", simulator.base])
            server.kill()
            #expect(explained.status == 0)
            #expect(explained.output.contains("pro: open"), "\(explained.output)")
        }
    }
}
