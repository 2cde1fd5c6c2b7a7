import Foundation
import PerennialTesting
import Testing

@testable import Perennial

/// Stories about files that cannot be read or written for a while, and about the process that may
/// write them.
extension Stories {
    @Suite struct Unlocking {
        @Test func `7: an app launched before the first unlock reads its files after the unlock`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let first = phone.perennial { $0.waitsForChanges = false }
                try await first.identify("ann")
                try await first.purchase("pro.monthly")
                #expect(try await phone.finishesAll(first))
                await phone.stop(first)
                let lock = try FolderLock(phone.files())
                let second = try await phone.launch()
                await second.enterForeground()
                #expect(!second["pro"].isKnown && second.snapshot.customer.id == "")
                try lock.open()
                await second.enterForeground()
                try await second.until { $0["pro"].isActive }
                #expect(second.snapshot.customer.id == "ann")
                let purchase = try await second.purchase("guide")
                #expect(purchase.isKeptByServer)
                #expect(try await phone.finishesAll(second))
            }
        }

        @Test func `7: a log-out before the first unlock stays in effect`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let first = phone.perennial()
                let anonymous = try await first.until(\.isKnown).customer.id
                try await first.identify("ann")
                try await first.purchase("guide")
                #expect(try await phone.finishesAll(first))
                await phone.stop(first)
                let lock = try FolderLock(phone.files())
                let second = try await phone.launch()
                await second.signOut()
                try lock.open()
                await second.enterForeground()
                let known = try await second.until(\.isKnown)
                #expect(known.customer.isAnonymous && known.customer.id != anonymous)
                #expect(!known["guide"].isActive)
            }
        }

        @Test func `68: an entry that only another process may send causes no busy loop`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let app = phone.perennial()
                try await app.until(\.isKnown)
                await world.serverIs(.down)
                try await phone.buyElsewhere("guide")
                await app.enterForeground()
                let widget = phone.perennial()
                let waiting = try await phone.outbox(of: widget)
                #expect(await waiting.entries.count == 1 && !waiting.isWriter)
                await world.serverIs(.up)
                await widget.enterForeground()
                let engine = try #require(widget.engine)
                #expect(await (engine.nextWait() ?? .max) >= RetryPauses.min)
                await app.stop()
                await widget.enterForeground()
                #expect(await engine.outbox?.isWriter == true)
                #expect(try await phone.finishesAll(widget))
            }
        }

        @Test func `an entry that cannot be removed from the outbox is not sent again at once`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                await world.serverIs(.down)
                try await phone.buyElsewhere("guide")
                await perennial.enterForeground()
                let outbox = try await phone.outbox(of: perennial)
                let engine = try #require(perennial.engine)
                try #require(await outbox.entries.count == 1)
                // From now on the outbox cannot be written.
                await outbox.close()
                await world.serverIs(.up)
                let posts = world.posts
                await outbox.hurry()
                await engine.post()
                #expect(world.posts == posts + 1)
                let due = try #require(await engine.firstDue())
                #expect(await due - engine.now.milliseconds >= Engine.unwrittenWait / 2)
            }
        }

        @Test
        func `while a purchase posts its document, the outbox sets no timer for the document`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                _ = try await perennial.products(["guide"])
                let engine = try #require(perennial.engine)
                await perennial.enterForeground()
                try await phone.nextSheet(.hold)
                let purchase = Task { try await perennial.purchase("guide") }
                try await phone.untilPrompts(1)
                await world.serverIs(.slow(2))
                try await phone.letGo()
                try await perennial.until { $0["guide"].isActive }
                try #require(await !engine.posting.atOnce.isEmpty)
                #expect(await (engine.nextWait() ?? .max) >= RetryPauses.min)
                await world.serverIs(.up)
                #expect(try await purchase.value.outcome == .bought)
            }
        }
    }
}

/// Replaces a folder, so that nothing in it can be read or written.
struct FolderLock {
    private let place: URL
    private let aside: URL

    init(_ folder: URL) throws {
        place = folder
        aside = folder.deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("aside-\(UUID().uuidString)")
        try FileManager.default.moveItem(at: place, to: aside)
        try Data().write(to: place)
    }

    func open() throws {
        try FileManager.default.removeItem(at: place)
        try FileManager.default.moveItem(at: aside, to: place)
    }
}
