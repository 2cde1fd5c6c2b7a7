import AppStoreFormats
import AsyncHTTPClient
import Engine
import Foundation
import Ledger
import OpenIDConnect
import Storage
import Testing

@testable import HTTPServer

/// Sign-ins by providers of OpenID Connect that are not ours.
@Suite(
    .enabled(if: OpenIDProgram.python != nil, OpenIDProgram.absence), .timeLimit(.minutes(10)))
struct ProviderProgramTests {
    private static let site = "https://localhost"

    /// A server whose operators sign in at a provider that runs.
    private struct Desk: Sendable {
        let server: OperatorServer
        let provider: OpenIDProgram.Running
        let http: HTTPClient

        /// The provider uses the clock of the machine.
        func setClock() {
            let milliseconds = Int64(Date().timeIntervalSince1970 * 1_000)
            server.clock.moment.withLock { $0 = Instant(milliseconds: milliseconds) }
        }

        /// Begins a sign-in, and signs a person in at the provider. Returns the path to which the
        /// provider sends the browser back.
        func visit(
            _ browser: inout ProviderBrowser, as person: String = "anna"
        ) async throws -> (path: String, ticket: String) {
            setClock()
            let began = try await server.beginSignIn()
            let back = try await browser.signIn(
                at: began.address, as: person, password: OpenIDProgram.password,
                backTo: "\(site)/login/openid/answer?")
            setClock()
            return (String(back.dropFirst(site.count)), began.ticket)
        }

        /// A whole sign-in.
        func signIn(
            _ browser: inout ProviderBrowser, as person: String = "anna"
        ) async throws -> TestServer.Answer {
            let visit = try await visit(&browser, as: person)
            return try await server.completeSignIn(visit.path, ticket: visit.ticket)
        }
    }

    private static func withDesk(
        of program: OpenIDProgram, groups: [String: [String]] = ["anna": ["staff", "helpers"]],
        secret: String = OpenIDProgram.clientSecret,
        _ body: @escaping @Sendable (Desk) async throws -> Void
    ) async throws {
        try await program.run(groups: groups) { provider in
            var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
            configuration.connectionPool.retryConnectionEstablishment = false
            try await HTTPClient.withHTTPClient(configuration: configuration) { http in
                let settings = OpenIDSettings(
                    issuer: try #require(ProviderURL(provider.issuer)),
                    clientID: OpenIDProgram.clientID, clientSecret: AppSecret(secret),
                    redirectURL: "\(site)/login/openid/answer")
                var access = DashboardAccess(for: try #require(PageOrigin(url: site)))
                access.provider = ProviderAccess(
                    client: OpenIDClient(settings, send: OpenIDClient.sender(http)), name: "Birds",
                    roles: ProviderServer.roles, sessionLife: .hours(8))
                try await OperatorServer.run(access: access) { server in
                    try await body(Desk(server: server, provider: provider, http: http))
                }
            }
        }
    }

    @Test(arguments: OpenIDProgram.allCases)
    func `a person gains and loses roles with the groups at the provider`(
        program: OpenIDProgram
    ) async throws {
        try await Self.withDesk(of: program) { desk in
            var browser = ProviderBrowser(desk.http)
            let answer = try await desk.signIn(&browser)
            try #require(answer.status == 303, "\(answer.text)")
            let operators = desk.server.engine.operators
            let account = try await operators.named("anna")
            #expect(account.roles == OperatorRoles(byApp: ["birds": .support]))
            let identity = try await operators.identities()["anna"]
            #expect(identity?.fullName == "Anna" && identity?.subject.isEmpty == false)
            let session = OperatorBrowser(server: desk.server, session: answer.session)
            #expect(try await session.get("/").status == 200)
            // Another group in the same session at the provider, and then none.
            try desk.provider.setGroups(["anna": ["readers"]])
            let second = try await desk.signIn(&browser)
            #expect(second.status == 303, "\(second.text)")
            #expect(
                try await operators.named("anna").roles == OperatorRoles(everywhere: .viewer))
            try desk.provider.setGroups(["ben": ["helpers"]])
            let refused = try await desk.signIn(&browser)
            #expect(refused.status == 403 && refused.session == nil)
            #expect(refused.text.contains("dashboard.sign_in.openid.roles"), "\(refused.text)")
            #expect(try await session.get("/").status == 303, "her session has ended")
            #expect(browser.passwordForms >= 1)
            // Another person is another account.
            var other = ProviderBrowser(desk.http)
            #expect(try await desk.signIn(&other, as: "ben").status == 303)
            #expect(try await operators.all().map(\.name).sorted() == ["anna", "ben"])
        }
    }

    @Test(arguments: OpenIDProgram.allCases)
    func `an authorization code works once, and the page of a refusal says what to do`(
        program: OpenIDProgram
    ) async throws {
        try await Self.withDesk(of: program) { desk in
            var browser = ProviderBrowser(desk.http)
            let first = try await desk.visit(&browser)
            let answer = try await desk.server.completeSignIn(first.path, ticket: first.ticket)
            try #require(answer.status == 303, "\(answer.text)")
            let again = try await desk.server.completeSignIn(first.path, ticket: first.ticket)
            #expect(again.status == 400 && again.session == nil)
            #expect(again.text.contains("Sign in again"), "\(again.text)")
            // The provider itself refuses the code in another sign-in.
            let second = try await desk.visit(&browser)
            let path = try Self.path(second.path, withCodeOf: first.path)
            let refused = try await desk.server.completeSignIn(path, ticket: second.ticket)
            #expect(refused.status == 403 && refused.session == nil)
            #expect(
                refused.text.contains("no longer accepts this sign-in"), "\(refused.text)")
            #expect(refused.text.contains("Sign in again"))
            #expect(try await desk.server.engine.sessions.all(of: "anna").count == 1)
        }
    }

    /// An answer of the provider with the code of another answer.
    private static func path(_ path: String, withCodeOf other: String) throws -> String {
        let code = #/[?&]code=([^&]*)/#
        let own = try #require(path.firstMatch(of: code)?.output.1)
        let foreign = try #require(other.firstMatch(of: code)?.output.1)
        return path.replacing(own, with: foreign)
    }

    @Test(arguments: OpenIDProgram.allCases)
    func `with a wrong client secret nobody is signed in, and the page shows invalid_client`(
        program: OpenIDProgram
    ) async throws {
        try await Self.withDesk(of: program, secret: "another") { desk in
            var browser = ProviderBrowser(desk.http)
            let answer = try await desk.signIn(&browser)
            #expect(answer.status == 403 && answer.session == nil)
            #expect(answer.text.contains("invalid_client"), "\(answer.text)")
            #expect(try await desk.server.engine.operators.all().isEmpty)
        }
    }

    @Test(arguments: OpenIDProgram.allCases)
    func `while the provider is stopped, the page says so, and passwords still work`(
        program: OpenIDProgram
    ) async throws {
        try await Self.withDesk(of: program) { desk in
            _ = try await desk.server.browser(of: "mira")
            var browser = ProviderBrowser(desk.http)
            let began = try await desk.visit(&browser)
            try await desk.provider.stop()
            // The rest of a sign-in that has begun, and a new one after the cache of the
            // configuration.
            let cut = try await desk.server.completeSignIn(began.path, ticket: began.ticket)
            desk.server.pass(OpenIDClient.cacheLife)
            let anew = try await desk.server.browser.get("/login/openid")
            for answer in [cut, anew] {
                #expect(answer.status == 502 && answer.session == nil)
                #expect(answer.text.contains("does not respond"), "\(answer.text)")
                #expect(answer.text.contains("sign in with it"), "\(answer.text)")
            }
            let form = ["name": "mira", "password": OperatorServer.password]
            #expect(try await desk.server.browser.post("/login", form).session != nil)
        }
    }
}
