import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

@Suite struct DocumentPageTests {
    /// The addresses of the documents to which a page links.
    private func links(in page: TestServer.Answer) -> [String] {
        page.text.matches(of: /href="(\/documents\/[^"]+)"/).map {
            String($0.1).replacing("&amp;", with: "&")
        }
    }

    @Test func `each link to a document opens its page`() async throws {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            for path in [
                "/customers/anna?history=all", "/events", "/documents?transaction=7001",
            ] {
                let links = links(in: try await server.get(path))
                #expect(!links.isEmpty, "\(path)")
                for link in links {
                    let page = try await server.get(link)
                    #expect(page.status == 200, "\(path): \(link)")
                    for words in ["&quot;transactionId&quot;: &quot;7001&quot;", "valid", "anna"] {
                        #expect(page.text.contains(words), "\(link): \(words)")
                    }
                }
            }
        }
    }

    @Test func `a document is found by its purchase or by the time of its arrival`() async throws {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let link = try #require(links(in: try await server.get("/events")).first)
            let path = try #require(link.split(separator: "?").first)
            let now = TestServer.now.milliseconds
            let rows = [
                ("transaction=7001", 200), ("known=\(now)", 200), ("transaction=7001&known=1", 200),
                ("transaction=7002&known=\(now)", 200), ("transaction=7002", 404),
                ("known=1", 404), ("known=x", 404), ("known=-9223372036854775808", 404),
                ("known=9223372036854775807", 404), ("", 404),
                ("transaction=7001&environment=sandbox", 404),
            ]
            for (query, status) in rows {
                let page = try await server.get("\(path)?\(query)")
                #expect(page.status == status, "\(query)")
            }
        }
    }

    @Test func `the downloaded file is the stored document, byte for byte`() async throws {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let link = try #require(links(in: try await server.get("/events")).first)
            let page = try await server.get(link)
            let file = try await server.get(link + "&format=raw")
            #expect(file.text.split(separator: ".").count == 3)
            #expect(page.text.contains("<pre><bdi>\(file.text)</bdi></pre>"))
            #expect(file.headers[.contentDisposition]?.hasPrefix("attachment") == true)
        }
    }

    @Test func `viewers cannot see documents`() async throws {
        var viewer = DashboardServer.developer
        viewer.developer?.role = .viewer
        try await DashboardServer.run(as: viewer) { server in
            try await server.buy("anna", transaction: "7001")
            #expect(links(in: try await server.get("/events")).isEmpty)
            let paths = ["/documents?transaction=7001", "/documents/00?transaction=7001"]
            for path in paths {
                #expect(try await server.get(path).status == 403, "\(path)")
            }
        }
    }
}
