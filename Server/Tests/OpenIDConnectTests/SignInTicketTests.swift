import AppStoreFormats
import Ledger
import Testing

@testable import OpenIDConnect

@Suite struct SignInTicketTests {
    private let key = Array(repeating: UInt8(1), count: 32)
    private let now = Instant(milliseconds: 1_795_248_000_000)

    private var ticket: SignInTicket {
        SignInTicket(
            secret: Array(repeating: 9, count: 32), begunAt: now, next: "/customers/anna?a=b")
    }

    @Test func `a sign-in ticket can be read from its cookie for ten minutes`() {
        let cookie = ticket.cookie(key: key)
        for seconds in [0, 599] {
            let read = SignInTicket(cookie: cookie, key: key, now: now + .seconds(seconds))
            #expect(read == ticket)
        }
        for seconds in [-61, 600, 10_000] {
            #expect(SignInTicket(cookie: cookie, key: key, now: now + .seconds(seconds)) == nil)
        }
    }

    @Test func `a changed sign-in cookie, or the cookie of another server, is refused`() {
        let cookie = ticket.cookie(key: key)
        #expect(SignInTicket(cookie: cookie, key: [2], now: now) == nil)
        for index in cookie.indices {
            var changed = cookie
            let other: Character = cookie[index] == "1" ? "2" : "1"
            changed.replaceSubrange(index...index, with: [other])
            #expect(SignInTicket(cookie: changed, key: key, now: now) == nil, "\(changed)")
        }
        for text in ["", ".", "...", cookie + ".", "a.b.c.d", String(repeating: "a", count: 9_999)]
        {
            #expect(SignInTicket(cookie: text, key: key, now: now) == nil)
        }
    }

    @Test func `state, nonce, verifier and challenge are different, and differ between sign-ins`() {
        let other = SignInTicket(
            secret: Array(repeating: 8, count: 32), begunAt: now, next: "/")
        let texts = [ticket, other].flatMap { [$0.state, $0.nonce, $0.verifier, $0.challenge] }
        #expect(Set(texts).count == 8 && texts.allSatisfy { $0.count == 43 })
        #expect(ticket.hasState(ticket.state) && !ticket.hasState(other.state))
        #expect(!ticket.hasState(""))
    }

    @Test func `after a sign-in with a path that is too long, the overview is shown`() {
        let long = "/" + String(repeating: "a", count: SignInTicket.nextBytesMax)
        let ticket = SignInTicket(secret: ticket.secret, begunAt: now, next: long)
        #expect(ticket.next == "/")
    }
}
