import Perennial
import PerennialTesting
import Testing

extension Stories {
    @Suite struct Offline {
        @Test
        func `2: a buyer's first offline launch has access, and posts the purchase later`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                try await phone.buyElsewhere("pro.monthly")
                let bundle = try await world.bundledOfferings()
                await world.serverIs(.down)
                let perennial = phone.perennial { $0.bundledOfferings = bundle }
                #expect(!perennial["pro"].isKnown)
                let known = try await perennial.until { $0["pro"].isKnown }
                #expect(known["pro"].isActive && known["pro"].basis == .store)
                // Only the server knows whether there is further access, such as a grant.
                #expect(!known.isKnown)
                #expect(world.postings.isEmpty)
                #expect(try await phone.unfinished() == 1)
                await world.serverIs(.up)
                #expect(try await phone.finishesAll(perennial))
                try await perennial.until { $0["pro"].basis == .server && $0["pro"].isActive }
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test
        func `6: after a long time offline, only the store's evidence counts`()
            async throws
        {
            try await Stories.play { world in
                let keys = try await world.trustedKeys()
                let other = try await world.device(of: "nobody")
                try await other.perennial { $0.customer = "ann" }.purchase("guide")
                let phone = try await world.device(of: "anna")
                let first = phone.perennial {
                    $0.customer = "ann"
                    $0.trustedKeys = keys
                }
                try await first.purchase("pro.yearly")
                #expect(try await phone.finishesAll(first))
                #expect(first["guide"].isActive)
                await phone.stop(first)
                await world.serverIs(.down)
                try await world.advance(.days(60))
                let second = try await phone.launch()
                #expect(!second["guide"].isActive)
                try await second.until { $0["pro"].isActive && $0["pro"].basis == .store }
                await second.enterForeground()
                #expect(!second["guide"].isActive, "Only the server could confirm it.")
                let text = second.explain("guide").description
                #expect(text.contains("The server has not confirmed it since"), "\(text)")
                await world.serverIs(.up)
                try await second.refresh()
                #expect(second["guide"].isActive && second["pro"].isActive)
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test
        func `55: if keys rotated while the app was away, they are verified from the pinned key`()
            async throws
        {
            try await Stories.play { world in
                let keys = try await world.trustedKeys()
                let other = try await world.device(of: "nobody")
                try await other.perennial { $0.customer = "ann" }.purchase("guide")
                let phone = try await world.device(of: "anna")
                var perennial = phone.perennial {
                    $0.customer = "ann"
                    $0.trustedKeys = keys
                }
                try await perennial.until { $0["guide"].isActive }
                for rotations in [1, 2] {
                    await phone.stop(perennial)
                    for _ in 1...rotations { try await world.rotateTokenKey() }
                    // The last token is valid for ten more days. A token of today would be valid
                    // for thirty.
                    try await world.advance(.days(20))
                    let back = try await phone.launch()
                    try await back.refresh()
                    await phone.stop(back)
                    await world.serverIs(.down)
                    try await world.advance(.days(20))
                    perennial = try await phone.launch()
                    #expect(perennial["guide"].isActive, "after \(rotations)")
                    await world.serverIs(.up)
                    try await perennial.refresh()
                }
                #expect(try await world.trustedKeys().count == 1 + 1 + 2)
            }
        }

        @Test func `if no trusted key introduces a token's key, the token is not stored`()
            async throws
        {
            try await Stories.play { world in
                let other = try await world.device(of: "nobody")
                try await other.perennial { $0.customer = "ann" }.purchase("guide")
                var keys = try await world.trustedKeys()
                keys[0] = Perennial.PublicKey(id: "another", x: keys[0].x, y: keys[0].y)
                let foreign = keys
                let phone = try await world.device(of: "anna")
                let first = phone.perennial {
                    $0.customer = "ann"
                    $0.trustedKeys = foreign
                }
                await first.enterForeground()
                await phone.stop(first)
                await world.serverIs(.down)
                let second = try await phone.launch()
                #expect(!second["guide"].isActive)
            }
        }

        @Test
        func `11: without the server, a second reading of the store closes an ended subscription`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let journal = Journal()
                let perennial = phone.perennial { $0.log = journal.handler }
                try await perennial.purchase("pro.monthly")
                #expect(try await phone.finishesAll(perennial))
                await world.serverIs(.down)
                try await phone.change("pro.monthly", "remove-from-sale")
                try await world.advance(.days(32))
                await perennial.enterForeground()
                #expect(try await !world.truth(of: "anna").isOpen("pro"))
                try await world.advance(.seconds(40))
                try await perennial.until { !$0["pro"].isActive }
                #expect(perennial["pro"].state == .expired)
                #expect(journal.shuttings(of: "pro").count == 1)
            }
        }

        @Test func `12: a slow server does not delay the app`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.patience = 1 }
                try await perennial.purchase("pro.monthly")
                #expect(try await phone.finishesAll(perennial))
                await world.serverIs(.slow(60))
                let clock = ContinuousClock()
                let start = clock.now
                let failure = await #expect(throws: Perennial.Failure.self) {
                    try await perennial.refresh()
                }
                #expect(failure?.isTemporary == true)
                #expect(clock.now - start < .seconds(30))
                #expect(perennial["pro"].isActive)
            }
        }

        @Test
        func `14: if server and store are down at a period's end, access is held open for a week`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                let bought = try await perennial.purchase("pro.monthly")
                #expect(try await phone.finishesAll(perennial))
                let until = try #require(bought.snapshot["pro"].until)
                await world.serverIs(.down)
                try await phone.storeIs(.down)
                for _ in 0..<45 {
                    try await world.advance(.days(1))
                    await perennial.enterForeground()
                    let late = perennial.now.timeIntervalSince(until)
                    #expect(perennial["pro"].isActive == (late < 7 * 86_400), "\(late)")
                    if late > 0, late < 7 * 86_400 {
                        #expect(perennial["pro"].state == .unconfirmed)
                    }
                }
                // The silence of store and server proves nothing: the subscription has been
                // renewed.
                #expect(!perennial["pro"].isKnown && perennial["pro"].state == .unknown)
                await world.serverIs(.up)
                try await perennial.refresh()
                #expect(perennial["pro"].isActive)
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `19: after a restart with a wrong clock, the first contact corrects the time`()
            async throws
        {
            try await Stories.play { world in
                let keys = try await world.trustedKeys()
                let phone = try await world.device(of: "anna")
                let first = phone.perennial {
                    $0.trustedKeys = keys
                    $0.customer = "ann"
                }
                try await first.purchase("pro.monthly")
                let other = try await world.device(of: "nobody")
                try await other.perennial { $0.customer = "ann" }.purchase("guide")
                try await first.refresh()
                #expect(first["guide"].isActive)
                await phone.stop(first)
                await world.serverIs(.down)
                try await phone.clock(isOffBy: 20 * Stories.day)
                try await phone.reboot()
                let second = try await phone.launch()
                try await second.until { $0["pro"].isActive }
                await phone.stop(second)
                try await phone.clock(isOffBy: 366 * Stories.day)
                try await phone.reboot()
                let third = try await phone.launch()
                await third.enterForeground()
                #expect(!third["guide"].isActive)
                let text = third.explain("guide").description
                #expect(text.contains("since the device started, so its clock counts"), "\(text)")
                await world.serverIs(.up)
                try await third.refresh()
                #expect(third["guide"].isActive && third["pro"].isActive)
                #expect(try await world.truth(of: "anna").isOpen("pro"))
            }
        }

        @Test func `33: a refund closes offline access at the first contact`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.purchase("pro.monthly")
                #expect(try await phone.finishesAll(perennial))
                await world.serverIs(.down)
                try await phone.storeIs(.down)
                try await world.advance(.days(1))
                try await phone.refund("pro.monthly")
                await perennial.enterForeground()
                #expect(perennial["pro"].isActive, "Nobody could say so: a documented limit.")
                await world.serverIs(.up)
                await perennial.enterForeground()
                #expect(perennial["pro"].state == .refunded)
                #expect(try await !world.truth(of: "anna").isOpen("pro"))
            }
        }
    }
}
