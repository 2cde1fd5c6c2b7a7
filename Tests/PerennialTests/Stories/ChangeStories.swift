import Foundation
import Perennial
import PerennialTesting
import Testing

extension Stories {
    @Suite struct Change {
        @Test func `3: after a first launch without any answer, access stays unknown`() async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                await world.serverIs(.down)
                try await phone.readsAreEmptyAtLaunch(1000)
                let perennial = phone.perennial()
                await perennial.enterForeground()
                try await world.advance(.days(40))
                await perennial.enterForeground()
                let snapshot = await perennial.known(withinSeconds: 0)
                #expect(!snapshot.isKnown && snapshot["pro"].state == .unknown)
            }
        }

        @Test func `17: a clock that is set back does not reopen an ended period`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("pro.monthly")
                try await phone.change("pro.monthly", "cancel")
                await perennial.enterForeground()
                await world.serverIs(.down)
                try await phone.storeIs(.down)
                try await phone.clock(isOffBy: -366 * Stories.day)
                try await world.advance(.days(40))
                await perennial.enterForeground()
                #expect(!perennial["pro"].isActive && perennial["pro"].isKnown)
                let text = perennial.explain("pro").description
                #expect(text.contains("The device's clock (20"), "\(text)")
                #expect(text.contains("is ignored"), "\(text)")
                #expect(try await !world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `18: a clock that is set forward does not close access`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("pro.monthly")
                let now = perennial.now
                await world.serverIs(.down)
                try await phone.clock(isOffBy: 366 * Stories.day)
                await perennial.enterForeground()
                #expect(perennial["pro"].isActive)
                #expect(perennial.now.timeIntervalSince(now) < 60)
                #expect(perennial["pro"].daysRemaining(at: perennial.now) == 31)
            }
        }

        @Test func `23: an interrupted purchase arrives when the interruption is over`()
            async throws
        {
            try await Stories.play { world in
                try await world.set(["interrupts_purchases": true])
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                let purchase = try await perennial.purchase("pro.monthly")
                #expect(purchase.outcome == .pending && !purchase.snapshot["pro"].isActive)
                try await phone.parent(.resolves)
                try await perennial.until { $0["pro"].isActive }
                #expect(try await phone.finishesAll(perennial))
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `34: the refund of a past period leaves the present one open`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                let purchase = try await perennial.purchase("pro.monthly")
                try await world.advance(.days(40))
                await perennial.enterForeground()
                try await phone.refund(transaction: #require(purchase.transactionID))
                await perennial.enterForeground()
                try await perennial.refresh()
                #expect(perennial["pro"].isActive)
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `35: a reversed refund opens access again`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("pro.monthly")
                try await world.advance(.days(1))
                try await phone.refund("pro.monthly")
                try await perennial.until { $0["pro"].state == .refunded }
                try await world.advance(.days(1))
                try await phone.change("pro.monthly", "reverse-refund")
                try await perennial.until { $0["pro"].isActive }
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `39: once the app is in the foreground, it knows that renewal was switched off`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("pro.monthly")
                try await phone.change("pro.monthly", "cancel")
                await perennial.enterForeground()
                #expect(perennial.snapshot.subscriptions.map(\.willRenew) == [false])
                #expect(perennial["pro"].isActive && perennial["pro"].willRenew == false)
            }
        }

        @Test func `43: under any policy, a renewal alone moves no purchase to the next customer`()
            async throws
        {
            try await Stories.play(
                storekit: Stories.rage.appendingPathComponent("Rage.storekit"),
                configuration: Self.transferring()
            ) { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.customer = "ann" }
                try await perennial.purchase("com.example.rage.plan")
                await perennial.signOut()
                try await perennial.identify("ben")
                #expect(!perennial["everything"].isActive)
                try await world.advance(.days(32))
                await perennial.enterForeground()
                try await perennial.refresh()
                #expect(!perennial["everything"].isActive)
                let other = try await world.device(of: "nobody")
                let ann = try await other.perennial { $0.customer = "ann" }.until(\.isKnown)
                #expect(ann["everything"].isActive)
            }
        }

        /// In-App Rage, under the policy that moves purchases to the customer who restores them.
        private static func transferring() throws -> URL {
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("transfer-\(UUID().uuidString)", isDirectory: true)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let text = try String(
                contentsOf: Stories.rage.appendingPathComponent("perennial.yaml"), encoding: .utf8)
            let file = folder.appendingPathComponent("perennial.yaml")
            let changed = text.replacingOccurrences(
                of: "    simulated: true\n", with: "    simulated: true\n    restore: transfer\n")
            try changed.write(to: file, atomically: true, encoding: .utf8)
            return file
        }
    }
}
