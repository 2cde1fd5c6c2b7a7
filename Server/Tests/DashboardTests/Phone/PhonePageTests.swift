import Foundation
import PerennialContract
import Testing

@testable import Dashboard

@Suite struct PhonePageTests {
    private func html(_ life: PhoneLife) -> String {
        let frame = Frame(
            viewer: Viewer(name: "dev", role: .admin, csrf: "token"), app: "birds",
            now: life.state.now, isSimulated: true)
        return PhonePage(life.state).html(in: frame)
    }

    @Test func `the phone's page contains each piece once, exactly as the stream sends it`() {
        let life = PhoneLife.inGrace
        let html = html(life)
        for piece in PhonePiece.all(of: life.state) {
            #expect(html.contains(piece.html), "\(piece.id)")
            #expect(html.components(separatedBy: " id=\"\(piece.id)\"").count == 2, "\(piece.id)")
            #expect(piece.html.contains("id=\"\(piece.id)\""), "\(piece.id)")
        }
    }

    @Test func `the phone's page names the customers and the time zone of its times`() {
        var life = PhoneLife.inGrace
        life.state.wire = [WireEntry(id: 1, at: PhoneLife.start, lines: [])]
        #expect(html(life).contains("the iPhone of <b><bdi>anna</bdi></b>, a made-up customer"))
        #expect(html(life).contains("Let ben, another customer, restore it"))
        #expect(html(life).contains("Times are UTC; Apple counts in California."))
        for piece in PhonePiece.all(of: life.state) where piece.id != "json" {
            let times = piece.html.matches(of: #/\d\d:\d\d/#)
            let inUTC = piece.html.matches(of: #/\d\d:\d\d UTC/#)
            #expect(times.count == inUTC.count, "\(piece.html)")
        }
        #expect(life.piece("wire").contains("24 Sep 2026, 09:00 UTC"))
    }

    @Test func `the phone's page works without scripts and has no inline script`() {
        let html = html(PhoneLife.inGrace)
        #expect(html.contains(#"<form id="sim" method="post" action="/phone""#))
        #expect(!html.contains("style=") && !html.contains(" onclick"))
        #expect(html.matches(of: #/<script/#).count == html.matches(of: #/<script src=/#).count)
        for name in ["day", "week", "month", "year", "due", "over", "renew", "card", "restore"] {
            #expect(html.contains("name=\"act\" value=\"\(name)\""), "\(name)")
        }
    }

    @Test func `the phone's page and its script are within their size limits`() {
        #expect(PhonePage.script.bytes.count <= 4096)
        #expect(html(PhoneLife.inGrace).utf8.count < 60_000)
    }

    @Test func `the button of a plan names its action`() {
        var life = PhoneLife()
        func words() -> [String] {
            life.piece("screen").matches(of: #/class="buy[^>]*>([^<]*)/#).map { String($0.1) }
        }
        #expect(words() == ["Buy", "Try free", "$1.99", "$24.99"])
        life.set(.paid, until: "2026-12-24T09:00:00Z")
        #expect(words() == ["Yours", "Switch", "$1.99", "$24.99"])
        life.state.books[0].renewsTo = "pro.yearly"
        #expect(words() == ["Stay", "Next", "$1.99", "$24.99"])
        life.state.device.sheet = "pro.monthly"
        #expect(words().last == "Confirm")
        #expect(life.piece("screen").contains("From 24 Dec 2026. Nothing is charged now."))
    }

    @Test func `the bird sleeps while access is closed`() {
        var life = PhoneLife()
        #expect(life.piece("screen").contains(#"class="hero shut""#))
        life.set(.grace, until: "2026-12-24T09:00:00Z")
        #expect(life.piece("screen").contains(#"class="hero""#))
        #expect(life.piece("screen").contains("Please update your payment method"))
    }

    @Test func `the list of messages shows sender and message, newest first, up to its limit`() {
        var life = PhoneLife.inGrace
        #expect(life.piece("wire").contains("No messages yet"))
        life.state.wire = (1...50).map { number in
            WireEntry(
                id: number, at: PhoneLife.start,
                lines: [
                    .init("phone", .code("POST /v1/purchases"), result: "200, 4 ms"),
                    .init("Apple", .code("DID_FAIL_TO_RENEW"), detail: "GRACE_PERIOD"),
                ] + life.state.events.prefix(1).map(WireEntry.line))
        }
        let html = life.piece("wire")
        #expect(html.matches(of: #/<li /#).count == WireEntry.countMax)
        #expect(html.contains("<code>POST /v1/purchases</code>"))
        #expect(html.contains("<b>purchased</b>") && html.contains("+\u{A0}$9.99"))
    }

    @Test func `the phone's page says which purchases family members can use`() {
        var life = PhoneLife.inGrace
        #expect(!life.piece("others").contains("In her family"))
        life.state.relative = Customer(
            customerID: "ben", environment: .production, asOf: PhoneLife.start)
        #expect(life.piece("others").contains("ben has no access to her purchases"))
        life.state.relative?.entitlements["pro"] = life.state.customer.entitlements["pro"]
        #expect(life.piece("others").contains("ben has access to <b>"))
    }
}
