import AppStoreFormats
import Crypto
import Foundation
import Ledger
import Storage
import StorageSQLite
import Testing

/// What an acknowledgement is worth: the server is killed without warning, over and over, while
/// notifications stream in.
@Suite(.serialized) struct KillStories {
    private static let notificationsMin = 2000
    private static let kills = 20
    private static let senders = 8

    @Test(.timeLimit(.minutes(10)))
    func `what was acknowledged is there after every kill`() async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let simulator = shop.simulator
            let notifications = try await Self.notifications(from: simulator)
            #expect(notifications.count >= Self.notificationsMin)
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let program = try await ServerProgram(folder: folder, simulator: simulator)
            var dice = SystemRandomNumberGenerator()
            let acknowledged = Acknowledged()
            var share = notifications[...]
            for kill in 1...Self.kills {
                let server = try await program.start()
                let batch = share.prefix(notifications.count / Self.kills)
                share = share.dropFirst(batch.count)
                let pause = Duration.milliseconds(Int.random(in: 5...400, using: &dice))
                async let stream: Void = Self.send(Array(batch), to: server.wire, acknowledged)
                try await Task.sleep(for: pause)
                server.kill()
                await stream
                let lost = try await program.missing(acknowledged.all)
                #expect(lost.isEmpty, "kill \(kill) after \(pause): \(lost.count) lost")
            }
            #expect(acknowledged.all.count > Self.kills, "the kills left nothing to look at")
            let verdict = try program.run(["rebuild", "--verify"])
            #expect(verdict.status == 0, "\(verdict.output)")

            // What was never acknowledged is sent again, as the App Store would; then all of it is
            // there.
            let server = try await program.start()
            await Self.send(notifications, to: server.wire, acknowledged)
            server.kill()
            #expect(acknowledged.all.count == notifications.count)
            #expect(try await program.missing(acknowledged.all).isEmpty)
            let final = try program.run(["rebuild", "--verify"])
            #expect(final.status == 0, "\(final.output)")
        }
    }

    /// Two hundred subscribers and ten months of renewals.
    private static func notifications(from simulator: Wire) async throws -> [String] {
        for number in 1...200 {
            try await simulator.post("/_sim/devices", ["account": .string("c\(number)")])
            try await simulator.post(
                "/_sim/devices/c\(number)-1/purchases", ["product_id": "pro.monthly"])
        }
        try await simulator.post("/_sim/clock", ["advance": "P310D"])
        let sent = try await simulator.get("/_sim/notifications")
        return (sent["notifications"]?.array ?? []).compactMap { $0["signed_payload"]?.string }
    }

    private static func send(
        _ notifications: [String], to server: Wire, _ acknowledged: Acknowledged
    ) async {
        await withTaskGroup { group in
            for sender in 0..<senders {
                group.addTask {
                    for index in stride(from: sender, to: notifications.count, by: senders) {
                        let payload = notifications[index]
                        let body: JSON = ["signedPayload": .string(payload)]
                        let answer = try? await server.send(
                            "POST", "/apple/notifications", body: body.bytes)
                        guard let answer else { return }
                        if answer.status == 200 { acknowledged.add(payload) }
                    }
                }
            }
        }
    }
}
