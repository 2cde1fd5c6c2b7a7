import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

/// Files that lie elsewhere; those in a folder of ours are read in the stories.
@Suite struct ContentRouteTests {
    /// HMAC-SHA256 under `secret`, by Python, of the path and the second five minutes after the
    /// server's moment.
    private static let signature =
        "e811ee5bbfa72025dd3a9021dae21bb4daa2749dbe617cf2b6647f34268749bf"

    @Test func `whoever may read what lies elsewhere is sent there with a signature`() async throws
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
            // Of another app, of another length, or of no digits.
            for altered in [
                url.replacing("app=birds", with: "app=cats"), String(url.dropLast(2)), url + "zz",
            ] {
                let refused = try await server.send(.get, altered, key: nil)
                #expect(try refused.problem.code == .contentLinkInvalid, "\(altered)")
            }
        }
    }
}
