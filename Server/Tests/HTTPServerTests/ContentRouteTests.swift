import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

/// Files stored elsewhere. The stories cover files in a folder of the server.
@Suite struct ContentRouteTests {
    /// HMAC-SHA256 with `secret`, made with Python, of the path and the second that is five minutes
    /// after the server's time.
    private static let signature =
        "e811ee5bbfa72025dd3a9021dae21bb4daa2749dbe617cf2b6647f34268749bf"

    @Test func `a customer with access to a file elsewhere is redirected with a signature`()
        async throws
    {
        try await TestServer.run { server in
            let path = Paths.contentFile(of: "first") + "?customer_id=anna"
            #expect(try await server.send(.get, path).problem.code == .contentNotAvailable)
            let given = try await server.send(
                .post, Paths.grants(of: "anna"), key: TestServer.secret,
                body: #"{"entitlement": "pro", "reason": "sorry"}"#)
            #expect(given.status == 200)
            let sent = try await server.send(.get, path)
            #expect(sent.status == 302)
            #expect(
                sent.headers[.location] == "https://files.example.com/issues/first.txt"
                    + "?expires=1795248300&signature=\(Self.signature)")

            let list: ContentList = try await server.send(.get, Paths.content(of: "anna")).decoded()
            let url = try #require(list.items.first?.url)
            #expect(try await server.send(.get, url, key: nil).headers[.location] != nil)
            // For another app, with a wrong length, and with characters that are no digits.
            for altered in [
                url.replacing("app=birds", with: "app=cats"), String(url.dropLast(2)), url + "zz",
            ] {
                let refused = try await server.send(.get, altered, key: nil)
                #expect(try refused.problem.code == .contentLinkInvalid, "\(altered)")
            }
        }
    }
}
