import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

/// Content in files on another server. The stories cover files in a folder of this server.
@Suite struct ContentRouteTests {
    /// HMAC-SHA256 with the key `secret`, made with Python. The code signs the path and the time
    /// five minutes after the server's time, in seconds.
    private static let signature =
        "e811ee5bbfa72025dd3a9021dae21bb4daa2749dbe617cf2b6647f34268749bf"

    @Test func `a customer with access is redirected by a signed link to a file on another server`()
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
            // None of these texts is a valid token: one is for another app, one has a wrong length,
            // and one has characters that are not digits.
            for altered in [
                url.replacing("app=birds", with: "app=cats"), String(url.dropLast(2)), url + "zz",
            ] {
                let refused = try await server.send(.get, altered, key: nil)
                #expect(try refused.problem.code == .contentLinkInvalid, "\(altered)")
            }
        }
    }
}
