import Engine
import HTTPServer
import Ledger
import Passkeys
import Testing

@testable import Program

@Suite struct DashboardConfigurationTests {
    private func dashboard(_ lines: String) throws -> DashboardConfiguration? {
        let text = "apps:\n  a:\n    bundle_id: x\n" + lines
        return try ConfigurationFile(text) { _ in nil }.dashboard
    }

    @Test func `a dashboard needs only a URL, and its other settings have defaults`() throws {
        let found = try #require(try dashboard("dashboard: {url: 'https://Store.example.com/'}"))
        #expect(found.origin == PageOrigin(url: "https://store.example.com"))
        let site = try #require(RelyingParty(origin: "https://store.example.com"))
        let passkeys = PasskeySettings(relyingParty: site)
        #expect(found.operators == OperatorSettings(passkeys: passkeys) && found.proxy == nil)
        #expect(found.url(ofLink: "00") == "https://store.example.com/links/00")
        #expect(try dashboard("") == nil)
        #expect(try dashboard("dashboard: {url: 'http://localhost:8080'}") != nil)
    }

    @Test func `the length of sessions and a trusted proxy can be configured`() throws {
        let found = try #require(
            try dashboard(
                """
                dashboard:
                  url: https://store.example.com
                  idle_hours: 1
                  session_days: 2
                  trusted_proxy:
                    addresses: [10.0.0.2, "::1", "2001:DB8::1", "[::2]", "::ffff:10.0.0.3"]
                    user_header: X-Forwarded-User
                """))
        #expect(found.operators.idle == .hours(1) && found.operators.lifetime == .days(2))
        #expect(
            found.proxy?.addresses == ["10.0.0.2", "::1", "2001:db8::1", "::2", "10.0.0.3"])
        #expect(found.proxy?.userField?.rawName == "X-Forwarded-User")
    }

    @Test func `passkeys can be optional, required or off, and are off at an unsuitable address`()
        throws
    {
        func settings(_ url: String, _ use: String) throws -> PasskeySettings? {
            try dashboard("dashboard: {url: '\(url)', sign_in: {\(use)}}")?.operators.passkeys
        }
        let url = "https://store.example.com"
        #expect(try settings(url, "passkeys: optional")?.areRequired == false)
        #expect(try settings(url, "passkeys: required")?.areRequired == true)
        #expect(try settings(url, "passkeys: off") == nil)
        #expect(try settings("http://127.0.0.1:8080", "passwords: true") == nil)
        #expect(
            try settings("http://localhost:8080", "passkeys: required")?.relyingParty.id
                == "localhost")
    }

    @Test func `without a trusted proxy, a public dashboard causes a warning`() throws {
        func warnings(_ lines: String) throws -> [String] {
            let text = "apps:\n  a:\n    bundle_id: x\n" + lines
            return try ConfigurationFile(text) { _ in nil }.warnings.map(\.message)
                .filter { $0.contains("trusted_proxy") }
        }
        #expect(try warnings("dashboard: {url: 'https://store.example.com'}").count == 1)
        #expect(try warnings("dashboard: {url: 'http://localhost:8080'}").isEmpty)
        let named = "trusted_proxy: {addresses: [10.0.0.2]}"
        #expect(try warnings("dashboard: {url: 'https://a.example', \(named)}").isEmpty)
    }

    @Test(arguments: [
        ("dashboard: {}", "has no url"),
        ("dashboard: {url: store.example.com}", "not an address of a dashboard"),
        ("dashboard: {url: 'https://a.example/path'}", "not an address of a dashboard"),
        ("dashboard: {url: 'http://store.example.com'}", "unencrypted"),
        ("dashboard: {url: 'https://a.example', idle_hours: 0}", "out of range"),
        ("dashboard: {url: 'https://a.example', idel_hours: 1}", "idel_hours"),
        ("dashboard: {url: 'https://a.example', sign_in: {passkeys: yes}}", "a use of passkeys"),
        (
            "dashboard: {url: 'http://127.0.0.1:8080', sign_in: {passkeys: required}}",
            "browsers make none"
        ),
        ("dashboard: {url: 'https://a.example', trusted_proxy: {}}", "1 to 50 addresses"),
        (
            "dashboard: {url: 'https://a.example', "
                + "trusted_proxy: {addresses: [10.0.0.2], user_header: 'a b'}}", "not a header name"
        ),
        (
            "dashboard: {url: 'https://a.example', trusted_proxy: {addresses: [localhost]}}",
            "is not an IP address"
        ),
        (
            "dashboard: {url: 'https://a.example', trusted_proxy: {addresses: ['10.0.0.0/24']}}",
            "is not an IP address"
        ),
        (
            "dashboard: {url: 'https://a.example', trusted_proxy: {addresses: ['10.0.0.2:80']}}",
            "is not an IP address"
        ),
    ])
    func `an invalid dashboard setting is reported with its line`(lines: String, message: String) {
        let failure = #expect(throws: ConfigurationFailure.self) { try dashboard(lines) }
        let texts = failure?.complaints.map { $0.message } ?? []
        #expect(texts.contains { $0.contains(message) }, "\(texts)")
        #expect(failure?.complaints.first?.line == 4)
    }
}
