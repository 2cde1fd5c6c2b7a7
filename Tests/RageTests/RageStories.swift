import Foundation
import Perennial
import RageCore
import Testing

/// Stories about the complete original app.
@Suite(.enabled(if: RageProgram.isThere, "skipped: no program"), .serialized)
struct RageStories {
    private static let buy = Array(repeating: "Buy", count: 6)
    private static let had = Array(repeating: "✓", count: 6)
    private static let comics = Comic.all.map {
        String($0.id.rawValue.dropFirst("com.example.rage.".count))
    }

    private func play(_ story: (RageProgram) async throws -> Void) async throws {
        let program = try RageProgram()
        defer { program.stop() }
        try await story(program)
    }

    /// The headline while terms run. The headline lists the server's days of each term, one after
    /// the other.
    private func daysLeft(_ program: RageProgram) async throws -> String {
        let days = try await program.terms(of: "rager").compactMap(\.daysRemaining).reduce(0, +)
        return "Subscribed: \(days) days left"
    }

    @Test func `all nine products can be bought, and the screen shows each product`() async throws {
        try await play { program in
            let phone = try await RagePhone(program, account: "anna")
            #expect(try await phone.screen() == [])
            try await phone { try await $0.logIn("rager") }
            let shut = ["Not subscribed"] + Self.buy + ["Subscribe", "Subscribe", "Subscribe"]
            #expect(try await phone.screen() == shut)

            try await playFaces(phone)
            try await playComics(phone)
            try await playTerms(phone, program)
            try await playPlan(phone, program)
        }
    }

    private func playFaces(_ phone: RagePhone) async throws {
        #expect(try await phone { try await $0.look() } == nil)
        #expect(try await phone.buy("randomragefaces") == .bought)
        #expect(try await phone { try await $0.facesLabel() } == "Times remaining: 5")
        #expect(try await phone { try await $0.look() } != nil)
        #expect(try await phone { try await $0.facesLabel() } == "Times remaining: 4")
        #expect(try await phone.screen()[1] == "Buy")
    }

    private func playComics(_ phone: RagePhone) async throws {
        for (index, comic) in Comic.all.enumerated() {
            #expect(try await phone { $0.read(comic) } == nil)
            #expect(try await phone.buy(Self.comics[index]) == .bought)
            #expect(try await phone { $0.read(comic) } == comic.strip)
            #expect(try await phone.screen()[index + 2] == "✓")
        }
        #expect(try await phone.screen()[0] == "Not subscribed")
    }

    private func playTerms(_ phone: RagePhone, _ program: RageProgram) async throws {
        let renew = Self.had + ["Renew", "Renew", "✓"]
        #expect(try await phone.buy("3monthlyrageface") == .bought)
        #expect(try await phone.screen() == [daysLeft(program)] + renew)
        #expect(try await phone.screen()[0] == "Subscribed: 91 days left")
        try await program.advance("P10D")
        try await phone.refresh()
        #expect(try await phone.screen() == [daysLeft(program)] + renew)
        #expect(try await phone.status(of: "3monthlyrageface") == "Ends on 2 April 2026")

        // The term is added after the end of the previous term, not after today.
        #expect(try await phone.buy("6monthlyrageface") == .bought)
        #expect(try await phone.screen() == [daysLeft(program)] + renew)
        #expect(try await phone.status(of: "6monthlyrageface") == "Ends on 3 October 2026")

        // With a subscription, faces are free, so no purchase is spent.
        #expect(try await phone { try await $0.look() } != nil)
        #expect(try await phone { $0.timesRemaining } == 4)
    }

    private func playPlan(_ phone: RagePhone, _ program: RageProgram) async throws {
        // In its last hour a term still counts as one day; then it is over. The test counts hours,
        // because the simulator's days are those of California, whose clocks change during this
        // time.
        try await program.advance("PT6359H")
        try await phone.refresh()
        #expect(try await phone.screen()[0] == "Subscribed: 1 day left")
        try await program.advance("PT1H1S")
        try await phone.refresh()
        let over = ["Not subscribed", "Buy"] + Self.had.dropLast()
        let ended = try await phone.screen()
        #expect(ended == over + ["Subscribe", "Subscribe", "Subscribe"])

        #expect(try await phone.buy("plan") == .bought)
        let screen = try await phone.screen()
        #expect(screen[0].hasPrefix("Subscribed: renews on "))
        #expect(Array(screen.dropFirst()) == Self.had + ["Renew", "Renew", "✓"])
        #expect(try await phone.status(of: ".plan")?.hasPrefix("Renews on ") == true)
    }

    @Test func `a second phone has comics, terms and faces after log-in and restore`()
        async throws
    {
        try await play { program in
            let old = try await RagePhone(program, account: "anna")
            try await old { try await $0.logIn("rager") }
            for name in ["randomragefaces", "nightlyrage", "3monthlyrageface"] {
                #expect(try await old.buy(name) == .bought)
            }
            let new = try await RagePhone(program, account: "anna")
            try await new { try await $0.logIn("rager") }
            _ = try await new { try await $0.restore() }
            #expect(try await new.screen() == old.screen())
            #expect(try await new.screen()[0] == daysLeft(program))
            #expect(try await new { $0.timesRemaining } == 5)
            let nightly = try #require(Comic.all.first { $0.id.rawValue.hasSuffix("nightlyrage") })
            #expect(try await new { $0.perennial[nightly.entitlement].state } == .owned)

            // After a log-out, the screen shows no purchases.
            try await new { await $0.logOut() }
            #expect(try await new.screen() == [])
            #expect(try await new { $0.read(nightly) } == nil)
            #expect(try await new { $0.timesRemaining } == nil)
            #expect(try await new { try await $0.facesLabel() } == nil)
            #expect(try await new { try await $0.look() } == nil)
        }
    }
}
