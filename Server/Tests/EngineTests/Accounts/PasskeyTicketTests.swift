import Ledger
import Storage
import Testing

@testable import Engine

/// Tickets and recovery codes.
@Suite struct PasskeyTicketTests {
    private static let key = [UInt8](repeating: 3, count: 32)
    private static let start = Instant(milliseconds: 1_700_000_000_000)

    private func ticket(_ purpose: PasskeyTicket.Purpose = .secondFactor) -> PasskeyTicket {
        PasskeyTicket(purpose, of: "mira", bond: [1, 2], at: Self.start)
            .returning(to: "/customers?x=ä")
    }

    @Test func `a passkey ticket can be read from its cookie for ten minutes`() {
        for purpose in PasskeyTicket.Purpose.allCases {
            let ticket = ticket(purpose)
            let cookie = ticket.cookie(key: Self.key)
            for seconds in [-60, 0, 599] {
                let now = Self.start + .seconds(seconds)
                #expect(PasskeyTicket(cookie: cookie, key: Self.key, now: now) == ticket)
            }
            for seconds in [-61, 600] {
                let now = Self.start + .seconds(seconds)
                #expect(PasskeyTicket(cookie: cookie, key: Self.key, now: now) == nil)
            }
        }
    }

    @Test func `a changed ticket cookie, or the cookie of another server, is refused`() {
        let cookie = ticket().cookie(key: Self.key)
        let parts = cookie.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        #expect(parts.count == 7)
        for (index, other) in [
            "first", "1700000000001", "YmVu", "AwQ", String(repeating: "A", count: 43), "Lw",
            String(repeating: "A", count: 43),
        ].enumerated() {
            var changed = parts
            changed[index] = other
            let text = changed.joined(separator: ".")
            #expect(PasskeyTicket(cookie: text, key: Self.key, now: Self.start) == nil, "\(index)")
        }
        #expect(PasskeyTicket(cookie: cookie, key: [1], now: Self.start) == nil)
        for text in ["", "......", cookie + ".", String(repeating: "a", count: 9_999)] {
            #expect(PasskeyTicket(cookie: text, key: Self.key, now: Self.start) == nil)
        }
    }

    @Test func `each ticket has its own challenge, and a renewed ticket ends when the first would`()
    {
        let ticket = ticket()
        let renewed = ticket.renewed
        #expect(ticket.challenge.count == 32 && ticket.challenge != renewed.challenge)
        #expect(ticket.hash != renewed.hash)
        #expect(renewed.until == ticket.until && renewed.operatorName == "mira")
        #expect(renewed.next == ticket.next && renewed.bond == ticket.bond)
        #expect(ticket.returning(to: "/" + String(repeating: "a", count: 2_000)).next == "/")
    }

    @Test
    func `a recovery code may be typed in upper case, with spaces, or with look-alike letters`()
        throws
    {
        let code = try #require(RecoveryCode(typed: "0123-4567-89ab-cdef"))
        #expect(code.shown == "0123-4567-89ab-cdef")
        for typed in [
            "0123456789ABCDEF", " o1 23-45 67 89ab-cdef ", "OL2345-6789abcdef", "0i234567-89abcdef",
        ] {
            #expect(RecoveryCode(typed: typed) == code, "\(typed)")
        }
        for typed in [
            "", "0123-4567-89ab-cde", "0123-4567-89ab-cdeff", "0123-4567-89ab-cdeu",
            "0123-4567-89ab-cdeä",
        ] {
            #expect(RecoveryCode(typed: typed) == nil, "\(typed)")
        }
        let new = RecoveryCode()
        #expect(RecoveryCode(typed: new.shown) == new && new != RecoveryCode())
        #expect(new.hash(of: "mira", key: Self.key) != new.hash(of: "ben", key: Self.key))
    }

    @Test func `a ticket works on every server of a database, and only once in total`() async throws
    {
        let stage = try OperatorStage()
        let (one, two) = (try await stage.engine(), try await stage.engine())
        let ticket = one.passkeys.signInTicket()
        let cookie = try await one.passkeys.cookie(of: ticket)
        #expect(try await two.passkeys.ticket(inCookie: cookie) == ticket)
        #expect(try await two.passkeys.use(ticket))
        #expect(try await !one.passkeys.use(ticket))
        stage.pass(PasskeyTicket.life)
        #expect(try await two.passkeys.ticket(inCookie: cookie) == nil)
    }

    @Test func `a ticket that expires between reading and use is refused`() async throws {
        let stage = try OperatorStage()
        let engine = try await stage.engine()
        let ticket = engine.passkeys.signInTicket()
        stage.pass(PasskeyTicket.life)
        #expect(try await !engine.passkeys.use(ticket))
    }

    @Test func `a used ticket stays used, even on a server whose clock is behind`() async throws {
        let stage = try OperatorStage()
        let engine = try await stage.engine()
        let ticket = engine.passkeys.signInTicket()
        #expect(try await engine.passkeys.use(ticket))
        stage.pass(PasskeyTicket.life)
        // Another server deletes the used tickets that have ended by its clock.
        #expect(try await engine.passkeys.use(engine.passkeys.signInTicket()))
        stage.pass(.seconds(-30))
        #expect(try await !engine.passkeys.use(ticket))
    }

    @Test func `adding a passkey requires a password, and recovery codes require a passkey`()
        async throws
    {
        let stage = try OperatorStage()
        let (engine, _) = try await stage.withMira()
        _ = try await engine.operators.invite(
            "ben", as: OperatorRoles(everywhere: .viewer), by: "mira")
        _ = try await engine.operators.proxied("ben")
        let session = OperatorSession(
            hash: Self.key, operatorName: "ben", createdAt: OperatorStage.start,
            until: OperatorStage.start, address: "", agent: "")
        await #expect(throws: EngineFailure.self) {
            try await engine.passkeys.registrationTicket(in: session)
        }
        await #expect(throws: EngineFailure.self) {
            try await engine.passkeys.makeRecoveryCodes(of: "mira", by: "mira")
        }
        #expect(try await engine.passkeys.removeAll(of: "mira", by: "perennial operators") == 0)
        await #expect(throws: EngineFailure.unknownOperator("eve")) {
            try await engine.passkeys.removeAll(of: "eve", by: "perennial operators")
        }
    }
}
