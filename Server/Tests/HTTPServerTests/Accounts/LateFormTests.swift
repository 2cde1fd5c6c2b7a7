import Engine
import HTTPTypes
import Ledger
import PerennialContract
import Storage
import Testing

@testable import HTTPServer

/// Forms whose bodies arrive long after their headers.
@Suite struct LateFormTests {
    /// What an admin changes about ben between the header and the body of his form.
    enum Change: CaseIterable, Sendable {
        case blocked, demoted, signedOut
    }

    private static let roles = OperatorRoles(everywhere: .admin)

    @Test(arguments: Change.allCases)
    func `a form fails if its operator is blocked, demoted or signed out before the body arrives`(
        change: Change
    ) async throws {
        try await OperatorServer.run(on: .live) { server in
            _ = try await server.browser(of: "mira")
            let ben = try await server.browser(of: "ben", Self.roles)
            let forms = [
                ("/operators", "name=eve&role=admin&for=*"),
                ("/customers/anna/grants", "entitlement=pro&reason=x"),
            ]
            var connections: [(Connection, String)] = []
            for (path, form) in forms {
                let (connection, body) = try await Self.begin(path, form, of: ben)
                connections.append((connection, body))
            }
            switch change {
            case .blocked: try await server.engine.operators.setBlock(true, of: "ben", by: "mira")
            case .demoted:
                try await server.engine.operators.setRoles(
                    of: "ben", to: OperatorRoles(everywhere: .viewer), by: "mira")
            case .signedOut: try await server.engine.sessions.signOutEverywhere("ben", by: "mira")
            }
            for (connection, rest) in connections {
                let answer = try #require(try await connection.answers(to: rest, count: 1).first)
                #expect(answer.status == (change == .demoted ? 403 : 303), "\(answer.text)")
                let isToSignIn = answer.text.lowercased().contains("\r\nlocation: /login\r\n")
                #expect(isToSignIn == (change != .demoted), "\(answer.text)")
            }
            #expect(try await server.engine.operators.links().isEmpty)
            let grants: GrantList = try await server.api(Paths.grants(of: "anna"))
            #expect(grants.items.isEmpty)
        }
    }

    @Test func `a form that arrives in parts is processed`() async throws {
        try await OperatorServer.run(on: .live) { server in
            let ben = try await server.browser(of: "ben", Self.roles)
            let (connection, rest) = try await Self.begin(
                "/operators", "name=eve&role=admin&for=*", of: ben)
            let answer = try #require(try await connection.answers(to: rest, count: 1).first)
            #expect(answer.status == 200 && answer.text.contains("/links/"))
        }
    }

    @Test func `the server does not read the body of a form that has no session`() async throws {
        try await OperatorServer.run(on: .live) { server in
            var stranger = server.browser
            stranger.session = "0"
            let port = try #require(server.client.port)
            let connection = try Connection(to: port)
            let header = Self.header("/operators", length: 16_000, of: stranger)
            let answer = try #require(try await connection.answers(to: header, count: 1).first)
            #expect(answer.status == 303, "\(answer.text)")
        }
    }

    /// Sends the header and the first five bytes of a form, and returns the other bytes. The
    /// server asks for the body only after it has recognized the operator.
    private static func begin(
        _ path: String, _ form: String, of browser: OperatorBrowser
    ) async throws -> (Connection, String) {
        let token = SessionService.formToken(ofSession: try #require(browser.session), app: "birds")
        let body = "\(form)&csrf=\(token)"
        let connection = try Connection(to: try #require(browser.server.client.port))
        let header = header(path, length: body.utf8.count, of: browser)
        let goOn = try #require(try await connection.answers(to: header, count: 1).first)
        try #require(goOn.says100, "\(goOn.text)")
        try connection.sendAll(String(body.prefix(5)))
        return (connection, String(body.dropFirst(5)))
    }

    private static func header(
        _ path: String, length: Int, of browser: OperatorBrowser
    ) -> String {
        "POST \(path) HTTP/1.1\r\nhost: localhost\r\n"
            + "cookie: \(OperatorServer.cookie)=\(browser.session ?? ""); app=birds\r\n"
            + "content-type: application/x-www-form-urlencoded\r\n"
            + "content-length: \(length)\r\nexpect: 100-continue\r\n\r\n"
    }
}
