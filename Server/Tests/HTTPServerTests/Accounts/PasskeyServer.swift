import Engine
import Ledger
import Passkeys
import PerennialContract
import SoftAuthenticator
import Storage
import Testing

@testable import HTTPServer

/// A server whose operators sign in with passwords and passkeys.
struct PasskeyServer: Sendable {
    static let cookie = "__Host-perennial-passkey"

    let server: OperatorServer

    static func run(
        areRequired: Bool = false,
        _ body: @escaping @Sendable (PasskeyServer) async throws -> Void
    ) async throws {
        let site = try #require(RelyingParty(origin: "https://localhost"))
        let settings = PasskeySettings(relyingParty: site, areRequired: areRequired)
        try await OperatorServer.run(passkeys: settings) { server in
            try await body(PasskeyServer(server: server))
        }
    }

    var browser: PasskeyBrowser { PasskeyBrowser(browser: server.browser) }

    /// A browser with the session of an operator who signed in a moment ago.
    func browser(of name: String) async throws -> PasskeyBrowser {
        PasskeyBrowser(browser: try await server.browser(of: name))
    }

    /// The acts about accounts in the audit, the oldest first, without those of one moment's order.
    func acts() async throws -> [String] {
        try await server.engine.audit.page(of: nil, limit: 100).entries.reversed().map(\.act)
    }
}

/// A browser with an authenticator, which remembers the cookies of answers.
struct PasskeyBrowser: Sendable {
    var browser: OperatorBrowser
    var device = SoftAuthenticator(host: "localhost", origin: "https://localhost")

    mutating func get(_ path: String) async throws -> TestServer.Answer {
        remember(try await browser.get(path))
    }

    mutating func post(
        _ path: String, _ values: [String: String] = [:]
    ) async throws -> TestServer.Answer {
        remember(try await browser.post(path, values))
    }

    private mutating func remember(_ answer: TestServer.Answer) -> TestServer.Answer {
        for cookie in answer.headers[values: .setCookie] {
            let parts = cookie.prefix { $0 != ";" }.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = String(parts[1])
            if parts[0] == PasskeyServer.cookie { browser.ticket = value.isEmpty ? nil : value }
            if parts[0] == OperatorServer.cookie { browser.session = value.isEmpty ? nil : value }
        }
        return answer
    }

    /// Adds a passkey in a session. Returns the response to the form with it.
    @discardableResult
    mutating func addPasskey(_ name: String = "Phone") async throws -> TestServer.Answer {
        let page = try await post("/account/passkeys/new")
        try #require(page.status == 200, "\(page.text)")
        return try await post("/account/passkeys", made(on: page, named: name))
    }

    /// The fields of the form on a page, with a new passkey.
    mutating func made(
        on page: TestServer.Answer, named name: String = "Phone"
    ) -> [String: String] {
        var fields = device.register(page.data("challenge"), user: page.data("user"))
        fields["name"] = name
        return fields
    }

    /// The fields of the form on a page, signed with the passkey.
    mutating func signed(on page: TestServer.Answer) throws -> [String: String] {
        try device.sign(page.data("challenge"))
    }

    mutating func signOut() { (browser.session, browser.ticket) = (nil, nil) }

    /// Sends the name and the password.
    mutating func sendPassword(
        of name: String, _ password: String = OperatorServer.password
    ) async throws -> TestServer.Answer {
        try await post(
            "/login", ["name": name, "password": password, "next": "/customers"])
    }

    /// Signs in with the passkey alone. Returns the response to the signed form.
    mutating func signInAlone() async throws -> TestServer.Answer {
        let page = try await get("/login/passkey?next=/customers")
        return try await post("/login/passkey", signed(on: page))
    }

    /// Makes recovery codes in a session.
    mutating func makeCodes() async throws -> [String] {
        let page = try await post("/account/passkeys/codes")
        try #require(page.status == 200, "\(page.text)")
        return page.text.matches(of: /[0-9a-z]{4}(-[0-9a-z]{4}){3}/).map { String($0.0) }
    }

    /// Whether the browser has a session that works.
    func isSignedIn() async throws -> Bool {
        guard browser.session != nil else { return false }
        return try await browser.get("/account").status == 200
    }
}

extension TestServer.Answer {
    /// The value of a data attribute of the form for an authenticator. Empty if there is none.
    func data(_ name: String) -> String {
        guard let start = text.firstRange(of: "data-\(name)=\"") else { return "" }
        return String(text[start.upperBound...].prefix { $0 != "\"" })
    }

    /// Whether a session has begun that leads to the page of customers.
    var leadsOn: Bool { status == 303 && headers[.location] == "/customers" && session != nil }
}
