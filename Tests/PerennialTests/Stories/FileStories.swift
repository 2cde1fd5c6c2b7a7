import Foundation
import Perennial
import PerennialTesting
import Testing

extension Stories {
    /// Stories about the SDK's files.
    @Suite struct Files {
        @Test func `53: a state file of another version is ignored, and does not close access`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let journal = Journal()
                let first = phone.perennial { $0.log = journal.handler }
                try await first.purchase("pro.monthly")
                #expect(try await phone.finishesAll(first))
                await phone.stop(first)
                try await phone.update(toVersion: "2.0")
                let state = try phone.files().appendingPathComponent("state-5")
                var bytes = try Data(contentsOf: state)
                // The version byte, after the four letters.
                bytes[4] += 1
                try bytes.write(to: state)
                let second = try await phone.launch()
                #expect(!second["pro"].isKnown)
                try await second.until { $0["pro"].isActive }
                await phone.stop(second)
                let third = try await phone.launch()
                try await third.until { $0["pro"].isActive }
                #expect(journal.shuttings(of: "pro") == [])
            }
        }

        @Test(arguments: ["empty", "truncated", "tampered", "another"])
        func `54: a damaged or foreign state file counts as absent`(
            damage: String
        ) async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let journal = Journal()
                let first = phone.perennial { $0.log = journal.handler }
                try await first.purchase("pro.monthly")
                #expect(try await phone.finishesAll(first))
                await phone.stop(first)
                let state = try phone.files().appendingPathComponent("state-5")
                var bytes = try Data(contentsOf: state)
                switch damage {
                case "empty": bytes = Data()
                case "truncated": bytes = bytes.prefix(bytes.count / 2)
                case "tampered": bytes[bytes.count / 2] ^= 1
                default:
                    let other = try await world.device(of: "ben")
                    let perennial = other.perennial()
                    try await perennial.purchase("premium.monthly")
                    #expect(try await other.finishesAll(perennial))
                    await other.stop(perennial)
                    bytes = try Data(
                        contentsOf: other.files().appendingPathComponent("state-5"))
                }
                try bytes.write(to: state)
                let second = try await phone.launch()
                #expect(!second["pro"].isActive && !second["premium"].isActive)
                try await second.until { $0["pro"].isActive }
                await second.enterForeground()
                #expect(!second["premium"].isActive)
                #expect(journal.shuttings(of: "pro") == [])
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `62: if one of twenty documents is refused, the others are posted`() async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                for _ in 0..<20 { try await phone.buyElsewhere("seeds.100") }
                // The last document of every list is for another app.
                try await world.faults(["devices": ["wrong_app": 1]])
                let perennial = phone.perennial()
                try await perennial.until { $0.wallets["seeds"]?.balance == 1900 }
                for _ in 0..<Device.looksMax where try await phone.unfinished() > 1 {
                    await perennial.enterForeground()
                }
                #expect(try await phone.unfinished() == 1)
                let findings = await perennial.diagnose().findings
                #expect(findings.contains { $0.text.contains("refused a document") })
                try await world.faults(["devices": [:] as [String: Int]])
                #expect(try await phone.finishesAll(perennial))
                try await perennial.refresh()
                #expect(perennial.wallet("seeds").balance == 2000)
            }
        }

        @Test func `63: unfinished purchases are posted in batches, the oldest first`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let count = StoryScale.isWhole ? 3000 : 250
                // Only the phone reports to the server. Otherwise the server would read the
                // account's whole history after each notification, which took most of the time of
                // this story.
                try await world.faults(["notifications": ["drop": 1]])
                for _ in 0..<count { try await phone.buyElsewhere("seeds.100") }
                let perennial = phone.perennial()
                // A purchase of the customer does not wait for these batches.
                #expect(try await perennial.purchase("guide").outcome == .bought)
                try await perennial.until(withinSeconds: StoryScale.isWhole ? 600 : 100) {
                    $0.wallets["seeds"]?.balance == 100 * count
                }
                #expect(try await phone.finishesAll(perennial))
                let postings = world.postings.filter { $0.map(\.productId) != ["guide"] }
                #expect(postings.allSatisfy { $0.count <= 200 })
                let dates = postings.flatMap { $0 }.map(\.purchaseDate)
                #expect(dates.count == count && dates == dates.sorted())
            }
        }

        @Test func `68: a widget reads the app's last snapshot, and sends no request`()
            async throws
        {
            try await Stories.play { world in
                let keys = try await world.trustedKeys()
                let phone = try await world.device(of: "anna")
                #expect(!phone.stored().isKnown, "The app was never launched.")
                let app = phone.perennial { $0.trustedKeys = keys }
                try await app.purchase("pro.monthly")
                #expect(try await phone.finishesAll(app))
                let asked = world.requests.count
                let stored = phone.stored()
                #expect(stored["pro"].isActive && stored["pro"].until == app["pro"].until)
                #expect(stored.customer.id == app.snapshot.customer.id)
                #expect(world.requests.count == asked)
            }
        }

        @Test func `68: if two processes share a folder, only the first one writes and posts`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let app = phone.perennial()
                try await app.purchase("pro.monthly")
                #expect(try await phone.finishesAll(app))
                await app.enterForeground()
                let posted = world.posts
                let widget = phone.perennial()
                try await widget.until { $0["pro"].isActive }
                // A purchase made in the widget waits for the app, which posts and finishes it.
                let purchase = try await widget.purchase("guide")
                #expect(purchase.outcome == .bought && !purchase.isKeptByServer)
                #expect(purchase.snapshot["guide"].isActive)
                await widget.enterForeground()
                #expect(world.posts == posted)
                #expect(try await phone.finishesAll(app))
                #expect(app["guide"].isActive && app["guide"].basis == .server)
                #expect(world.posts == posted + 1)
                await phone.stop(widget)
            }
        }
    }
}
