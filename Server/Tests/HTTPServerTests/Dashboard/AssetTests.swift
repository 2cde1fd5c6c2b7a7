import HTTPTypes
import Testing

@testable import HTTPServer

/// The files that pages load.
@Suite struct AssetTests {
    @Test func `a file is sent once to a browser that caches it`() async throws {
        try await DashboardServer.run { server in
            let page = try await server.get("/")
            let paths = page.text.matches(of: /"(\/assets\/[^"]+)"/).map { String($0.1) }
            #expect(paths.count == 3)
            for path in paths {
                let first = try await server.get(path)
                #expect(first.status == 200)
                #expect(first.headers[.cacheControl]?.contains("immutable") == true)
                let tag = try #require(first.headers[.eTag])
                #expect(tag.hasPrefix("\""))
                #expect(try await server.get(path).text == first.text)
                let again = try await server.get(path, headers: [.ifNoneMatch: tag])
                #expect(again.status == 304)
                #expect(again.text.isEmpty)
                #expect(again.headers[.cacheControl] == first.headers[.cacheControl])
            }
        }
    }
}
