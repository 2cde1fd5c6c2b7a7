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

    func begin(next: String? = nil) async throws -> BegunSignIn {
        try await server.beginSignIn(next: next)
    }

    static func cookie(of answer: TestServer.Answer) -> String? { answer.ticket }

    /// The path and query with which the provider sends a browser back.
    func answerPath(to began: BegunSignIn, as person: [String: JSON] = anna) throws -> String {
        let back = try #require(provider.signIn(at: began.address, as: person))
        return String(back.dropFirst("https://localhost".count))
    }

    func complete(_ path: String, ticket: String?) async throws -> TestServer.Answer {
        try await server.completeSignIn(path, ticket: ticket)
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

/// A browser that has begun a sign-in at a provider.
struct BegunSignIn: Sendable {
    /// The value of the cookie with the ticket.
    var ticket: String
    /// The address at the provider.
    var address: String
}

extension OperatorServer {
    static let ticketCookie = "__Host-perennial-sign-in"

    /// Begins a sign-in at the provider.
    ///
    /// - Parameter next: the page to which the sign-in leads.
    func beginSignIn(next: String? = nil) async throws -> BegunSignIn {
        let query = next.map { "?next=\(Paths.percentEncoded($0))" } ?? ""
        let answer = try await browser.get("/login/openid\(query)")
        try #require(answer.status == 303, "\(answer.text)")
        return BegunSignIn(
            ticket: try #require(answer.ticket), address: answer.headers[.location] ?? "")
    }

    /// Opens the path to which the provider sends a browser back.
    func completeSignIn(_ path: String, ticket: String?) async throws -> TestServer.Answer {
        var fields = HTTPFields()
        if let ticket { fields[.cookie] = "\(Self.ticketCookie)=\(ticket)" }
        return try await send(.get, path, fields)
    }
}

extension TestServer.Answer {
    /// The value of the cookie with the ticket of a sign-in. Nil if the answer sets no such cookie.
    var ticket: String? {
        headers[values: .setCookie].first { $0.hasPrefix("\(OperatorServer.ticketCookie)=") }
            .map {
                String($0.dropFirst(OperatorServer.ticketCookie.count + 1).prefix { $0 != ";" })
            }
    }
}
