import HTTPTypes
import Testing

@testable import HTTPServer

/// Which requests a program for development refuses.
@Suite struct LocalNamesTests {
    private func isRefused(
        _ method: HTTPRequest.Method = .get, host: String? = "localhost:8080",
        _ fields: [String: String] = [:], others: [String] = []
    ) throws -> Bool {
        var request = HTTPRequest(method: method, scheme: "http", authority: host, path: "/")
        for (name, value) in fields {
            request.headerFields[try #require(HTTPField.Name(name))] = value
        }
        return LocalNames(others: others).refusal(of: request) != nil
    }

    @Test(
        arguments: [
            ("localhost", false), ("localhost:8080", false), ("LOCALHOST:8080", false),
            ("127.0.0.1:8090", false), ("[::1]:8090", false), ("[::1]", false),
            ("192.168.1.5:8090", false), ("simulator:8090", false), ("macbook.local:8090", false),
            ("birds.localhost", false), ("host.docker.internal:8090", false),
            ("evil.example:8080", true), ("localhost.evil.example", true),
            ("127.0.0.1.evil.example:8080", true), ("evillocal.example", true),
            ("1.2.3.4.evil.example", true), ("store.example.com", false),
        ])
    func `a request's host must be a configured name or a name of this machine`(
        host: String, isRefused: Bool
    ) throws {
        #expect(
            try self.isRefused(host: host, others: ["Store.example.com"]) == isRefused, "\(host)")
    }

    @Test func `a request without a host is accepted unless it is from a page of another site`()
        throws
    {
        #expect(try !isRefused(host: nil))
        #expect(try isRefused(host: nil, ["Origin": "https://evil.example"]))
    }

    @Test(
        arguments: [
            (.get, [:], false), (.post, [:], false),
            (.post, ["Origin": "http://localhost:8080"], false),
            (.post, ["Origin": "http://localhost:8080", "Sec-Fetch-Site": "same-origin"], false),
            (.post, ["Origin": "https://evil.example"], true), (.post, ["Origin": "null"], true),
            (.get, ["Origin": "https://evil.example"], true),
            (.post, ["Origin": "http://localhost:3000"], true),
            (.post, ["Origin": "https://localhost:8080"], false),
            (.post, ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"], true),
            (.get, ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"], true),
            (.get, ["Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"], true),
            (.get, ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"], false),
            (.post, ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"], true),
            (.get, ["Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"], false),
        ] as [(HTTPRequest.Method, [String: String], Bool)])
    func `requests from a page of another site are refused`(
        method: HTTPRequest.Method, fields: [String: String], isRefused: Bool
    ) throws {
        #expect(try self.isRefused(method, fields) == isRefused, "\(method) \(fields)")
    }
}
