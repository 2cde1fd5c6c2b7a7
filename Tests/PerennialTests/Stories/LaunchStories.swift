import Perennial
import PerennialTesting
import Testing

extension Stories {
    @Suite struct Launch {
        @Test func `1: at first launch, access goes from unknown directly to closed`() async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                #expect(!perennial["pro"].isKnown && perennial["pro"].state == .unknown)
                let known = try await perennial.until(\.isKnown)
                #expect(known["pro"].state == .never)
                #expect(try await phone.prompts() == [])
            }
        }

        @Test func `1: at a buyer's first launch, access goes from unknown directly to open`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                try await phone.buyElsewhere("pro.monthly")
                let known = try await phone.perennial().until(\.isKnown)
                #expect(known["pro"].isActive, "No paywall flashes up.")
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `4: at an offline launch, the stored token gives access immediately`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let keys = try await world.trustedKeys()
                let first = phone.perennial { $0.trustedKeys = keys }
                try await first.purchase("pro.monthly")
                await phone.stop(first)
                await world.serverIs(.down)
                try await phone.readsAreEmptyAtLaunch(1000)
                let second = try await phone.launch()
                #expect(second["pro"].isActive && second["pro"].basis == .token)
            }
        }

        @Test func `5: at an offline launch days later, the stored token still gives access`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let keys = try await world.trustedKeys()
                let first = phone.perennial { $0.trustedKeys = keys }
                try await first.purchase("pro.monthly")
                await phone.stop(first)
                await world.serverIs(.down)
                try await phone.readsAreEmptyAtLaunch(1000)
                try await world.advance(.days(3))
                let second = try await phone.launch()
                #expect(second["pro"].isActive && second["pro"].basis == .token)
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `8: empty lists of StoreKit at launch do not close access`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let journal = Journal()
                let first = phone.perennial { $0.log = journal.handler }
                try await first.purchase("pro.monthly")
                await phone.stop(first)
                try await phone.readsAreEmptyAtLaunch(4)
                let second = try await phone.launch()
                for _ in 0..<4 { await second.enterForeground() }
                #expect(second["pro"].isActive)
                #expect(journal.shuttings(of: "pro") == [])
            }
        }

        @Test func `9: access from the server is open although StoreKit never lists the purchase`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.customer = "ann" }
                try await perennial.purchase("pro.monthly")
                let other = try await world.device(of: "nobody")
                try await other.readsAreEmptyAtLaunch(1000)
                let second = other.perennial { $0.customer = "ann" }
                let known = try await second.until { $0["pro"].isActive }
                #expect(known["pro"].basis == .server)
            }
        }

        @Test func `47: two devices of one Apple account have access without a log-in`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let tablet = try await world.device(of: "anna")
                let onPhone = phone.perennial()
                let onTablet = tablet.perennial()
                try await onPhone.purchase("pro.monthly")
                try await onTablet.until { $0["pro"].isActive }
                await world.serverIs(.down)
                let again = try await tablet.relaunch(onTablet)
                try await again.until { $0["pro"].isActive }
                #expect(try await phone.prompts().map(\.cause) == ["purchase"])
                #expect(try await tablet.prompts() == [])
            }
        }

        @Test func `70: no sheet or password request appears unless the user asks for it`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                try await phone.buyElsewhere("pro.monthly")
                let asked = try await phone.prompts().count
                var perennial = phone.perennial()
                try await perennial.until { $0["pro"].isActive }
                await perennial.enterForeground()
                try await perennial.refresh()
                try await perennial.identify("ann")
                try await world.advance(.days(40))
                perennial = try await phone.relaunch(perennial)
                await perennial.enterForeground()
                await perennial.signOut()
                await perennial.enterForeground()
                _ = try await perennial.previewRestore()
                #expect(try await phone.prompts().count == asked)
            }
        }
    }
}
