import PerennialContract
import Storage
import Testing

@testable import HTTPServer

/// What operators see while the database does not answer.
@Suite struct AbsentDatabaseTests {
    private static let again = "<body data-again>"

    @Test(arguments: ["/", "/customers", "/customers/anna", "/charts/mrr", "/events", "/nowhere"])
    func `while the database does not answer, a page says so and reloads itself`(
        path: String
    ) async throws {
        try await OperatorServer.run { server in
            var mira = try await server.browser(of: "mira")
            mira.headers = [.accept: "text/html"]
            server.database.failAll(.unavailable)
            let page = try await mira.get(path)
            #expect(page.status == 503, "\(page.text)")
            #expect(page.headers[.contentType] == "text/html; charset=utf-8")
            #expect(page.text.contains("The server cannot use its database now."))
            #expect(page.text.contains("data-again"))
            #expect(page.headers[.retryAfter] != nil)
            server.database.failAll(nil)
            #expect(try await !mira.get(path).text.contains("data-again"))
        }
    }

    @Test func `while the database does not answer, the login page says so and nobody signs in`()
        async throws
    {
        try await OperatorServer.run { server in
            _ = try await server.browser(of: "mira")
            server.database.failAll(.unavailable)
            let page = try await server.browser.get("/login")
            #expect(page.status == 503 && page.text.contains(Self.again))
            let act = try await server.browser.post(
                "/login", ["name": "mira", "password": OperatorServer.password])
            #expect(act.status == 503 && act.session == nil)
            #expect(act.text.contains("Nothing has changed.") && !act.text.contains(Self.again))
        }
    }

    /// If a browser gets no stream, the page's script tries again later.
    @Test func `while the database does not answer, a request for a live stream is refused`()
        async throws
    {
        try await OperatorServer.run { server in
            let mira = try await server.browser(of: "mira")
            server.database.failAll(.unavailable)
            #expect(try await mira.get("/live/events").status == 503)
        }
        try await DashboardServer.run { server in
            let nowhere = try await server.get("/live/nowhere")
            #expect(nowhere.status == 404)
        }
    }
}
