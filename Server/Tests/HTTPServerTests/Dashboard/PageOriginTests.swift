import HTTPTypes
import Testing

@testable import HTTPServer

@Suite struct PageOriginTests {
    private static let form = "application/x-www-form-urlencoded"

    private func isAccepted(
        _ method: HTTPRequest.Method, host: String?, origin: String? = nil, site: String? = nil,
        type: String? = form
    ) -> Bool {
        var request = HTTPRequest(method: method, scheme: "http", authority: host, path: "/phone")
        request.headerFields[.origin] = origin
        request.headerFields[.contentType] = type
        if let name = HTTPField.Name("Sec-Fetch-Site") { request.headerFields[name] = site }
        return PageOrigin.loopback.refusal(of: request) == nil
    }

    @Test func `the Host of a request to the dashboard must be a name of this machine`() {
        let rows: [(String?, Bool)] = [
            ("localhost", true), ("localhost:8080", true), ("LOCALHOST:1", true),
            ("127.0.0.1:8080", true), ("[::1]:8080", true), ("[::1]", true), (nil, false),
            ("", false), ("evil.example", false), ("localhost.evil.example", false),
            ("localhost:80@evil.example", false), ("127.0.0.1.evil.example:80", false),
            ("127.0.0.2", false), ("0.0.0.0", false), ("[::2]", false),
            ("[::1].evil.example", false),
            ("localhost:", true), ("evil.example:8080", false), ("[::1", false),
        ]
        for (host, isAccepted) in rows {
            #expect(self.isAccepted(.get, host: host) == isAccepted, "\(host ?? "none")")
            #expect(self.isAccepted(.post, host: host) == isAccepted, "\(host ?? "none")")
        }
    }

    @Test func `a POST to the dashboard must come from a page of this server, or from a program`() {
        let host = "localhost:8080"
        let rows: [(origin: String?, site: String?, Bool)] = [
            (nil, nil, true), ("http://localhost:8080", "same-origin", true),
            ("http://localhost:8080", nil, true), (nil, "same-origin", true),
            ("HTTP://LOCALHOST:8080", nil, true), ("http://localhost:8081", nil, false),
            ("http://127.0.0.1:8080", nil, false), ("https://localhost:8080", nil, false),
            ("http://evil.example", nil, false), ("null", nil, false),
            ("http://localhost:8080", "cross-site", false), (nil, "same-site", false),
            (nil, "none", false), (nil, "cross-site", false),
        ]
        for (origin, site, isAccepted) in rows {
            #expect(
                self.isAccepted(.post, host: host, origin: origin, site: site) == isAccepted,
                "\(origin ?? "none") \(site ?? "none")")
            #expect(self.isAccepted(.get, host: host, origin: origin, site: site))
        }
    }

    @Test func `a POST to the dashboard must be a form`() {
        let rows: [(String?, Bool)] = [
            (Self.form, true), ("Application/X-WWW-Form-Urlencoded; charset=utf-8", true),
            (nil, false), ("text/plain", false), ("application/json", false),
            ("multipart/form-data", false),
        ]
        for (type, isAccepted) in rows {
            #expect(self.isAccepted(.post, host: "localhost", type: type) == isAccepted)
        }
    }
}
