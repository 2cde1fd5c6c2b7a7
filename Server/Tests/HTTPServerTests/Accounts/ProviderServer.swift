import AppStoreFormats
import Engine
import HTTPTypes
import Ledger
import OpenIDConnect
import OpenIDProvider
import PerennialContract
import Storage
import Testing

@testable import HTTPServer

/// A server with a dashboard whose operators sign in by a provider of OpenID Connect.
struct ProviderServer: Sendable {
    static let ticketCookie = "__Host-perennial-sign-in"
    static let anna: [String: JSON] = [
        "sub": "a1", "preferred_username": "anna", "name": "Anna <b>Bird</b>",
        "groups": ["staff", "helpers"],
    ]
    static let roles = GroupRoles([
        "admins": OperatorRoles(everywhere: .admin),
        "helpers": OperatorRoles(byApp: ["birds": .support]),
        "readers": OperatorRoles(everywhere: .viewer),
    ])

    let server: OperatorServer
    let provider: OpenIDProvider

    static func run(
        takesPasswords: Bool = true, sessionLife: Duration = .hours(8),
        _ body: @escaping @Sendable (ProviderServer) async throws -> Void
    ) async throws {
        let clock = OperatorClock()
        let provider = OpenIDProvider { clock.moment.withLock { $0 } }
        let settings = try OpenIDProvider.settings(
            redirectURL: "https://localhost/login/openid/answer")
        var access = DashboardAccess(for: try #require(PageOrigin(url: "https://localhost")))
        access.takesPasswords = takesPasswords
        access.provider = ProviderAccess(
            client: OpenIDClient(settings, send: provider.sender), name: "Birds & Co",
            roles: roles, sessionLife: sessionLife)
        try await OperatorServer.run(clock: clock, access: access) { server in
            try await body(ProviderServer(server: server, provider: provider))
        }
    }

    /// A browser that has begun a sign-in.
    struct Began: Sendable {
        /// The value of the cookie with the ticket.
        var ticket: String
        /// The address at the provider.
        var address: String
    }

    func begin(next: String? = nil) async throws -> Began {
        let query = next.map { "?next=\(Paths.percentEncoded($0))" } ?? ""
        let answer = try await server.browser.get("/login/openid\(query)")
        try #require(answer.status == 303, "\(answer.text)")
        let cookie = try #require(Self.cookie(of: answer))
        return Began(ticket: cookie, address: answer.headers[.location] ?? "")
    }

    static func cookie(of answer: TestServer.Answer) -> String? {
        answer.headers[values: .setCookie].first { $0.hasPrefix("\(ticketCookie)=") }
            .map { String($0.dropFirst(ticketCookie.count + 1).prefix { $0 != ";" }) }
    }

    /// The path and query with which the provider sends a browser back.
    func answerPath(to began: Began, as person: [String: JSON] = anna) throws -> String {
        let back = try #require(provider.signIn(at: began.address, as: person))
        return String(back.dropFirst("https://localhost".count))
    }

    /// Opens the address to which the provider sends a browser back.
    func complete(_ path: String, ticket: String?) async throws -> TestServer.Answer {
        var fields = HTTPFields()
        if let ticket { fields[.cookie] = "\(Self.ticketCookie)=\(ticket)" }
        return try await server.send(.get, path, fields)
    }

    /// A whole sign-in.
    func signIn(
        as person: [String: JSON] = anna, next: String? = nil
    ) async throws -> TestServer.Answer {
        let began = try await begin(next: next)
        return try await complete(try answerPath(to: began, as: person), ticket: began.ticket)
    }

    /// A browser with the session of a person who signs in.
    func browser(as person: [String: JSON] = anna) async throws -> OperatorBrowser {
        let answer = try await signIn(as: person)
        try #require(answer.status == 303, "\(answer.text)")
        return OperatorBrowser(server: server, session: answer.session)
    }

    /// The acts about accounts in the audit, the oldest first.
    func acts() async throws -> [RecordedAct] {
        try await server.engine.audit.page(of: nil, limit: 100).entries.reversed()
    }
}

extension [String: JSON] {
    /// The same person with other claims.
    func with(_ changes: [String: JSON]) -> Self { merging(changes) { $1 } }
}
