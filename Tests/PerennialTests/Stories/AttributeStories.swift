import Perennial
import PerennialTesting
import Testing

extension Stories {
    /// What an app says about its customers, with a real server.
    @Suite struct Attributes {
        @Test func `attributes that were set offline survive the end of the process`() async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let first = phone.perennial()
                try await first.until(\.isKnown)
                let id = first.snapshot.customer.id
                await world.serverIs(.down)
                try first.setAttributes([.email: "anna@example.com", "team": "red"])
                try first.setAttributes(["team": "blue"])
                await phone.stop(first)
                await world.serverIs(.up)
                let second = try await phone.launch()
                try await second.refresh()
                let kept = try await world.attributes(of: id)
                #expect(kept == [.email: "anna@example.com", "team": "blue"])
                // The world's clock stands still, so both changes happen at one moment.
                try second.setAttributes(["team": nil])
                try await second.refresh()
                #expect(try await world.attributes(of: id) == [.email: "anna@example.com"])
            }
        }

        @Test func `two people on one phone never get each other's attributes`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                let first = perennial.snapshot.customer.id
                await world.serverIs(.down)
                try perennial.setAttributes(["team": "red", "bird": "owl"])
                await perennial.signOut()
                let second = perennial.snapshot.customer.id
                try perennial.setAttributes(["team": "blue"])
                await perennial.signOut()
                await world.serverIs(.up)
                try await perennial.refresh()
                #expect(first != second)
                #expect(try await world.attributes(of: first) == ["team": "red", "bird": "owl"])
                #expect(try await world.attributes(of: second) == ["team": "blue"])
                let present = perennial.snapshot.customer.id
                #expect(try await world.attributes(of: present).isEmpty)
            }
        }

        @Test func `attributes that were set before a log-in belong to the person after it`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                await world.serverIs(.down)
                try perennial.setAttributes(["team": "red"])
                await world.serverIs(.up)
                try await perennial.identify("ann")
                try await perennial.refresh()
                #expect(try await world.attributes(of: "ann") == ["team": "red"])
            }
        }

        @Test func `without a proof of identity, a person's attributes are refused and reported`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial { $0.customer = "ann" }
                try perennial.setAttributes(["team": "red"])
                try await perennial.refresh()
                #expect(try await world.attributes(of: "ann").isEmpty)
                let problems = await perennial.diagnose().findings.filter(\.isProblem)
                #expect(problems.contains { $0.text.contains("team (key_not_secret)") })
            }
        }

        @Test func `the value that was set last stays, whichever phone sends first`() async throws {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let early = phone.perennial()
                try await early.until(\.isKnown)
                let id = early.snapshot.customer.id
                await world.serverIs(.down)
                try early.setAttributes(["team": "red", "bird": "owl"])
                try await world.advance(.seconds(3600))
                await world.serverIs(.up)
                let tablet = try await world.device(of: "anna")
                let late = tablet.perennial { $0.customer = id }
                try late.setAttributes(["team": "blue"])
                try await late.refresh()
                await early.enterForeground()
                try await early.refresh()
                #expect(try await world.attributes(of: id) == ["team": "blue", "bird": "owl"])
            }
        }

        @Test func `an attribute beyond the server's limit is reported, and the others are stored`()
            async throws
        {
            try await Stories.play { world in
                let phone = try await world.device(of: "anna")
                let perennial = phone.perennial()
                try await perennial.until(\.isKnown)
                let id = perennial.snapshot.customer.id
                await world.serverIs(.down)
                let names = (10...60).map { Perennial.AttributeName(rawValue: "a\($0)") }
                try perennial.setAttributes(
                    Dictionary(uniqueKeysWithValues: names.map { ($0, "x" as String?) }))
                await world.serverIs(.up)
                try await perennial.refresh()
                #expect(try await world.attributes(of: id).count == names.count - 1)
                let texts = await perennial.diagnose().findings.map(\.text)
                #expect(texts.contains { $0.contains("a60 (attribute_not_valid)") })
            }
        }
    }
}
