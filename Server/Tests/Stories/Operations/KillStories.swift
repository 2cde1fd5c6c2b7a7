import AppStoreFormats
import Crypto
import Dice
import Eventually
import Foundation
import Ledger
import Storage
import StorageSQLite
import Testing

/// Checks that acknowledged data survives. The server is killed without warning, repeatedly, while
/// notifications arrive.
@Suite(.serialized) struct KillStories {
    private static let notificationsMin = 2000
    private static let kills = 20

    @Test(.timeLimit(.minutes(10)), arguments: StoryDatabase.allCases)
    func `after repeated kills of a server, every acknowledged notification is stored`(
        engine: StoryDatabase
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await engine.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: engine, address)
                let notifications = try await Stream.notifications(from: shop.simulator)
                #expect(notifications.count >= Self.notificationsMin)
                try await Self.killAgainAndAgain(program, notifications)
            }
        }
    }

    private static func killAgainAndAgain(
        _ program: ServerProgram, _ notifications: [String]
    ) async throws {
        let acknowledged = Acknowledged()
        var dice = Dice(announcedBy: "KillStories")
        var share = notifications[...]
        for kill in 1...kills {
            let server = try await program.start()
            let batch = share.prefix(notifications.count / kills)
            share = share.dropFirst(batch.count)
            let pause = Duration.milliseconds(Int.random(in: 5...400, using: &dice))
            let before = acknowledged.all.count
            async let stream: Void = Stream.sendOnce(Array(batch), to: server.wire, acknowledged)
            // Every second kill must hit a server with unfinished work, however slow the machine
            // is.
            if kill.isMultiple(of: 2) {
                try await eventually("an acknowledgement before kill \(kill)") {
                    acknowledged.all.count > before
                }
            }
            try await Task.sleep(for: pause)
            server.kill()
            await stream
            let lost = try await program.missing(acknowledged.all)
            #expect(lost.isEmpty, "kill \(kill) after \(pause): \(lost.count) lost")
        }
        // This also checks that every acknowledged change has its event.
        try await program.expectClean()
        #expect(try await program.eventCount() > 0)

        // Notifications without acknowledgement are sent again, as the App Store does. In the end,
        // all notifications are stored.
        let server = try await program.start()
        await Stream.sendOnce(notifications, to: server.wire, acknowledged)
        server.kill()
        #expect(acknowledged.all.count == notifications.count)
        #expect(try await program.missing(acknowledged.all).isEmpty)
        try await program.expectClean()
    }
}
