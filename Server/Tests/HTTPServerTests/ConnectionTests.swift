import Engine
import PerennialContract
import Testing

@testable import HTTPServer

/// Rules that hold for a connection with any requests.
@Suite struct ConnectionTests {
    private static let question = RequestText.get("/v1/customers/anna")

    @Test(
        arguments: [
            ("anna", RequestText.key, "anna"), ("an.na_~1|x", RequestText.key, "an.na_~1|x"),
            ("a%20b", RequestText.key, "a b"), ("anna/", RequestText.key, "anna"),
            ("anna#a", RequestText.key, "anna#a"),
            (
                String(repeating: "a", count: 255), RequestText.key,
                String(repeating: "a", count: 255)
            ),
            (String(repeating: "a", count: 256), RequestText.key, nil),
            ("null", RequestText.key, nil), ("", RequestText.key, nil),
            ("a//b", RequestText.key, nil), ("anna", "", nil),
            ("anna", "authorization: Bearer pk_other\r\n", nil),
        ] as [(String, String, String?)])
    func `a customer's id may be written in every form that HTTP allows`(
        id: String, fields: String, answered: String?
    ) async throws {
        try await ListeningServer.run { server in
            let asked = RequestText.get("/v1/customers/\(id)", fields + "x-request-id: mine\r\n")
            let answer = try await server.connect().answers(to: asked, count: 1)[0].text
            #expect(answer.contains("x-request-id: mine\r\n"))
            #expect(answer.hasPrefix("HTTP/1.1 200 ") == (answered != nil), "\(answer)")
            if let answered { #expect(answer.contains("\"customer_id\":\"\(answered)\"")) }
        }
    }

    @Test func `answers arrive in the order of their requests`() async throws {
        try await ListeningServer.run { server in
            var (requests, ids) = ("", [String]())
            for number in 1...300 {
                ids.append("request-\(number)")
                let id = "x-request-id: request-\(number)\r\n"
                switch number % 5 {
                case 0: requests += RequestText.get("/v1/customers/anna", RequestText.key + id)
                case 1: requests += RequestText.get("/v1/customers/anna?environment=sandbox", id)
                case 2: requests += RequestText.post(body: "{}", id)
                case 3:
                    requests += RequestText.get(
                        "/v1/customers/anna", RequestText.key + "content-length: 2\r\n" + id)
                    requests += "{}"
                default:
                    requests += RequestText.post(try ListeningServer.notification(number / 2), id)
                }
            }
            let answers = try await server.connect().answers(to: requests, count: ids.count)
            #expect(answers.map(\.requestID) == ids)
        }
    }

    @Test func `each of many concurrent clients gets its own answer`() async throws {
        try await ListeningServer.run { server in
            let connections = try (0..<200).map { _ in try server.connect() }
            for (number, connection) in connections.enumerated() {
                try connection.sendAll(RequestText.get("/v1/customers/c\(number)"))
            }
            for (number, connection) in connections.enumerated() {
                let answer = try await connection.answers(to: "", count: 1)[0].text
                #expect(answer.contains("\"customer_id\":\"c\(number)\""))
            }
        }
    }

    @Test(arguments: [(RequestText.key, 200), ("authorization: Bearer pk_other\r\n", 401)])
    func `if a client ends its input after its requests, it still gets its answers`(
        fields: String, status: Int
    ) async throws {
        try await ListeningServer.run { server in
            let asked = RequestText.get("/v1/customers/anna", fields)
            let answers = try await server.connect().answers(
                to: asked + asked, count: 2, closing: true)
            #expect(answers.map(\.status) == [status, status])
        }
    }

    @Test func `a connection stays open, with or without keep-alive, until one side closes it`()
        async throws
    {
        try await ListeningServer.run { server in
            let connection = try server.connect()
            for fields in ["", "connection: keep-alive\r\n", "connection: Keep-Alive\r\n"] {
                let asked = RequestText.get("/v1/customers/anna", RequestText.key + fields)
                #expect(try await !connection.answers(to: asked, count: 1)[0].closes)
            }
            let last = RequestText.get(
                "/v1/customers/anna", RequestText.key + "connection: Close\r\n")
            let answers = try await connection.answers(to: last + Self.question, count: 1)
            #expect(answers[0].status == 200 && answers[0].closes)
            try await connection.awaitEnd()
        }
    }

    @Test(arguments: ["", "connection: keep-alive\r\n", "expect: 100-continue\r\n"])
    func `after an HTTP 1.0 request the connection closes, and later requests are ignored`(
        fields: String
    ) async throws {
        try await ListeningServer.run { server in
            let old = RequestText.post(try ListeningServer.notification(1), fields)
                .replacing("HTTP/1.1", with: "HTTP/1.0")
            let more = RequestText.post(try ListeningServer.notification(2))
            let connection = try server.connect()
            let answer = try await connection.answers(to: old + more, count: 1)[0]
            #expect(answer.status == 200 && answer.closes, "\(answer.text)")
            try await connection.awaitEnd()
            #expect(server.engine.counts.notificationsRecorded == 1)
        }
    }

    // MARK: - Expect: 100-continue

    private static func head(of post: String) -> (head: String, body: String) {
        guard let end = post.firstRange(of: "\r\n\r\n") else { return (post, "") }
        return (
            "\(post[..<end.lowerBound])\r\nexpect: 100-continue\r\n\r\n",
            String(post[end.upperBound...])
        )
    }

    @Test
    func `if a client waits for status 100, it gets 100, sends its body, and gets the answer`()
        async throws
    {
        try await ListeningServer.run { server in
            let connection = try server.connect()
            for number in 1...2 {
                let (head, body) = Self.head(
                    of: RequestText.post(try ListeningServer.notification(number)))
                let first = try await connection.answers(to: head, count: 1)[0]
                #expect(first.says100, "\(first.text)")
                let last = try await connection.answers(to: body, count: 1)[0]
                #expect(last.status == 200 && !last.closes, "\(last.text)")
            }
            #expect(server.engine.counts.notificationsRecorded == 2)
        }
    }

    @Test func `if a client does not wait for status 100, it is answered like any other client`()
        async throws
    {
        try await ListeningServer.run { server in
            let (head, body) = Self.head(
                of: RequestText.post(try ListeningServer.notification(1)))
            let answer = try await server.connect().answers(to: head + body, count: 1)[0]
            #expect(answer.status == 200 && !answer.closes, "\(answer.text)")
        }
    }

    @Test(arguments: [
        (Paths.purchases, "", 2, 401),
        (Paths.purchases, "authorization: Bearer pk_other\r\n", 2, 401),
        (Paths.notifications, "", 1_048_577, 413), ("/nowhere", "", 2, 404),
    ])
    func `a request that is refused for its header gets no status 100`(
        path: String, fields: String, length: Int, status: Int
    ) async throws {
        try await ListeningServer.run { server in
            let connection = try server.connect()
            let head =
                "POST \(path) HTTP/1.1\r\nhost: birds\r\n\(fields)"
                + "content-length: \(length)\r\nexpect: 100-continue\r\n\r\n"
            let answer = try await connection.answers(to: head, count: 1)[0]
            #expect(answer.status == status && answer.closes, "\(answer.text)")
            try await connection.awaitEnd()
        }
    }

    // MARK: - Malformed requests

    private static let malformed = [
        "no HTTP\r\n\r\n", "GET /\r\n\r\n", "BREW / HTTP/1.1\r\n\r\n",
        "GET /health HTTP/9.9\r\n\r\n", "GET /health HTTP/1.1\r\nno colon\r\n\r\n",
        "POST /health HTTP/1.1\r\ncontent-length: many\r\n\r\n",
        "POST /health HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{FC}\u{3}\u{3}",
        "GET /health HTTP/1.1\r\n\r\n",
        "GET /health HTTP/1.1\r\nhost: birds\r\nhost: birds\r\n\r\n",
        "GET /health HTTP/1.1\r\nhost: birds\r\nHost: cats\r\n\r\n",
        "GET /health HTTP/1.0\r\nhost: birds\r\nhost: cats\r\n\r\n",
        "GET /health HTTP/1.1\r\nhost: birds cats\r\n\r\n",
        "GET /health HTTP/1.1\r\nhost: birds/cats\r\n\r\n",
        "GET /health HTTP/1.1\r\nx: \(String(repeating: "a", count: 40_000))\r\n\r\n",
    ]

    @Test(arguments: malformed.indices)
    func `a malformed request gets a problem, and the connection closes`(row: Int) async throws {
        try await ListeningServer.run { server in
            let connection = try server.connect()
            // The server answers the earlier request first.
            let answers = try await connection.answers(
                to: Self.question + Self.malformed[row], count: 2)
            #expect(answers[0].status == 200)
            let problem = answers[1]
            #expect(problem.status == 400 && problem.closes, "\(problem.text)")
            #expect(problem.text.contains(/(?i)content-type: application\/problem\+json/))
            #expect(problem.body.contains(#""code":"request_not_understood""#))
            let id = try #require(problem.requestID)
            #expect(problem.body.contains(#""request_id":"\#(id)""#))
            try await connection.awaitEnd()
            let metrics = try await server.connect().answers(
                to: RequestText.get("/metrics", ""), count: 1)[0].text
            #expect(metrics.contains(#"{method="OTHER",route="unmatched",status="400"} 1"#))
        }
    }

    @Test(arguments: ["birds", "birds:8080", "[::1]:8080", "192.0.2.7", "b_i-r.ds", ""])
    func `a request with one Host line is accepted, whatever host the line names`(host: String)
        async throws
    {
        try await ListeningServer.run { server in
            let asked = "GET /health HTTP/1.1\r\nhost: \(host)\r\n\r\n"
            let answer = try await server.connect().answers(to: asked, count: 1)[0]
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test func `an HTTP 1.0 request needs no Host line`() async throws {
        try await ListeningServer.run { server in
            let asked = "GET /health HTTP/1.0\r\n\r\n"
            let answer = try await server.connect().answers(to: asked, count: 1)[0]
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test func `if a header is too large, the error names the limit`() async throws {
        try await ListeningServer.run { server in
            let asked = Self.malformed[Self.malformed.count - 1]
            let answer = try await server.connect().answers(to: asked, count: 1)[0]
            #expect(answer.body.contains("32768 bytes"), "\(answer.text)")
        }
    }

    /// The server answers the request, and sends no second answer for the body.
    @Test(arguments: [(Paths.notifications, 400), (Paths.purchases, 401)])
    func `after a malformed body, one answer is sent and the connection ends`(
        path: String, status: Int
    ) async throws {
        try await ListeningServer.run { server in
            let connection = try server.connect()
            let asked =
                "POST \(path) HTTP/1.1\r\nhost: birds\r\ntransfer-encoding: chunked\r\n\r\n"
                + "no length\r\n"
            let answer = try await connection.answers(to: asked, count: 1)[0]
            #expect(answer.status == status, "\(answer.text)")
            #expect(answer.body.contains("\"code\""))
            try await connection.awaitEnd()
        }
    }
}
