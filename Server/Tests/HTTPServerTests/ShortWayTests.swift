import Engine
import Ledger
import Testing

@testable import HTTPServer

/// What the short way answers, the routes would answer with the same bytes; and all answers of a
/// connection come in the order of their requests.
@Suite struct ShortWayTests {
    @Test(arguments: [nil, TokenRules()])
    func `both ways answer with the same bytes`(tokens: TokenRules?) async throws {
        var birds = ListeningServer.birds
        birds.tokens = tokens
        try await ListeningServer.run(birds) { server in
            let (connection, database) = (try server.connect(), server.database)
            // The first asks whose the key is, and makes the key of the tokens.
            _ = try await connection.answers(to: RequestText.get("/v1/customers/anna"), count: 1)
            for id in ["anna", "an.na_~1|x", String(repeating: "a", count: 255)] {
                let (before, awaited) = (database.readsAtOnce, database.readsAwaited)
                let short = try await connection.answers(
                    to: RequestText.get("/v1/customers/\(id)"), count: 1)
                #expect(database.readsAtOnce == before + 1 && database.readsAwaited == awaited)
                let long = try await connection.answers(
                    to: RequestText.get("/v1/customers/\(id)?environment=production"), count: 1)
                #expect(database.readsAtOnce == before + 1 && database.readsAwaited > awaited)
                #expect(short[0].lasting == long[0].lasting)
                #expect(short[0].text.contains("\r\n\r\n{\"aliases\":[],\"as_of\":"))
                #expect(short[0].text.contains("\"token\"") == (tokens != nil))
            }
        }
    }

    @Test(
        arguments: [
            ("null", RequestText.key, nil), ("anna", "", nil),
            ("anna", "authorization: Bearer pk_other\r\n", nil),
            ("", RequestText.key, nil), ("a//b", RequestText.key, nil),
            (String(repeating: "a", count: 256), RequestText.key, nil),
            ("a%20b", RequestText.key, "a b"), ("anna/", RequestText.key, "anna"),
            ("anna#a", RequestText.key, "anna#a"),
            ("anna", RequestText.key + "connection: close\r\n", "anna"),
        ] as [(String, String, String?)])
    func `what is refused or not plain is answered by its route`(
        id: String, fields: String, answered: String?
    ) async throws {
        try await ListeningServer.run { server in
            let connection = try server.connect()
            _ = try await connection.answers(to: RequestText.get("/v1/customers/anna"), count: 1)
            let asked = RequestText.get("/v1/customers/\(id)", fields + "x-request-id: mine\r\n")
            let answer = try await connection.answers(to: asked, count: 1)[0].text
            #expect(answer.contains("x-request-id: mine\r\n"))
            #expect(answer.hasPrefix("HTTP/1.1 200 ") == (answered != nil), "\(answer)")
            if let answered { #expect(answer.contains("\"customer_id\":\"\(answered)\"")) }
            guard fields.contains("close") else { return }
            try await connection.awaitEnd()
        }
    }

    @Test func `answers come in the order of their requests, by whichever way`() async throws {
        try await ListeningServer.run { server in
            let connection = try server.connect()
            _ = try await connection.answers(to: RequestText.get("/v1/customers/anna"), count: 1)
            var (requests, names) = ("", [String]())
            for number in 0..<2_000 {
                names.append("c\(number)")
                switch number % 7 {
                case 0:
                    requests += RequestText.get("/v1/customers/c\(number)?environment=production")
                case 1, 2:
                    requests += RequestText.get(
                        "/v1/customers/c\(number)", RequestText.key + "content-length: 2\r\n"
                    )
                    .appending("{}")
                default: requests += RequestText.get("/v1/customers/c\(number)")
                }
            }
            let answers = try await connection.answers(to: requests, count: names.count)
            let found = answers.compactMap { answer in
                answer.text.firstMatch(of: /"customer_id":"(\w+)"/).map { String($0.1) }
            }
            #expect(found == names)
        }
    }

    @Test func `each of many that ask together gets their own answer`() async throws {
        try await ListeningServer.run { server in
            let first = try server.connect()
            _ = try await first.answers(to: RequestText.get("/v1/customers/anna"), count: 1)
            let connections = try (0..<3 * Cohort.membersMax).map { _ in try server.connect() }
            // While the first are looked up, more come to each of two event loops than are for one
            // look: the second time, as a loop learns by the first how many may be ready at once.
            for _ in 0..<2 {
                server.database.slowDown(reads: 2)
                for (number, connection) in connections.enumerated() {
                    try connection.sendAll(RequestText.get("/v1/customers/c\(number)"))
                }
                for (number, connection) in connections.enumerated() {
                    let answer = try await connection.answers(to: "", count: 1)[0].text
                    #expect(answer.contains("\"customer_id\":\"c\(number)\""))
                }
            }
            #expect(server.database.readsAtOnce > 1)
        }
    }

    @Test func `who has asked far ahead is left to the route until that is answered`() async throws
    {
        try await ListeningServer.run { server in
            let (connection, database) = (try server.connect(), server.database)
            let asked = RequestText.get("/v1/customers/anna")
            _ = try await connection.answers(to: asked, count: 1)
            let (before, awaited) = (database.readsAtOnce, database.readsAwaited)
            let many = String(repeating: asked, count: 500)
            _ = try await connection.answers(to: many, count: 500)
            #expect(database.readsAwaited > awaited)
            #expect(database.readsAtOnce > before)
            let later = (database.readsAtOnce, database.readsAwaited)
            _ = try await connection.answers(to: asked, count: 1)
            #expect(database.readsAtOnce == later.0 + 1 && database.readsAwaited == later.1)
        }
    }

    @Test func `who says no more after asking is answered`() async throws {
        try await ListeningServer.run { server in
            let first = try server.connect()
            _ = try await first.answers(to: RequestText.get("/v1/customers/anna"), count: 1)
            let last = try server.connect()
            let asked = RequestText.get("/v1/customers/anna")
            let answers = try await last.answers(to: asked + asked, count: 2, closing: true)
            #expect(answers.count == 2)
            #expect(server.database.readsAtOnce >= 2)
        }
    }

    @Test(arguments: [(RequestText.key, "200"), ("authorization: Bearer pk_other\r\n", "401")])
    func `who says no more after asking is answered by the route, too`(
        fields: String, status: String
    ) async throws {
        try await ListeningServer.run { server in
            // Nobody has asked whose the key is.
            let asked = RequestText.get("/v1/customers/anna", fields)
            let answers = try await server.connect().answers(
                to: asked, count: 1, closing: true)
            #expect(answers[0].text.hasPrefix("HTTP/1.1 \(status) "))
        }
    }

    @Test func `a question is answered before what cannot be read after it`() async throws {
        try await ListeningServer.run { server in
            let asked = RequestText.get("/v1/customers/anna") + "no HTTP\r\n\r\n"
            let answers = try await server.connect().answers(to: asked, count: 2)
            #expect(answers[0].text.hasPrefix("HTTP/1.1 200 "))
            #expect(answers[1].text.hasPrefix("HTTP/1.1 400 "))
        }
    }

    @Test func `who keeps the connection alive by a word takes the short way, too`() async throws {
        try await ListeningServer.run { server in
            let asked = RequestText.get(
                "/v1/customers/anna", RequestText.key + "connection: Keep-Alive\r\n")
            let connection = try server.connect()
            _ = try await connection.answers(to: asked, count: 1)
            let awaited = server.database.readsAwaited
            _ = try await connection.answers(to: asked, count: 1)
            #expect(server.database.readsAwaited == awaited)
        }
    }

    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (1_798_761_599, "Thu, 31 Dec 2026 23:59:59 GMT"),
        // A clock that stands before 1970, or is not set at all.
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (-86_400, "Wed, 31 Dec 1969 00:00:00 GMT"),
        (-86_401, "Tue, 30 Dec 1969 23:59:59 GMT"),
        (-62_167_219_200, "Sat, 01 Jan 0000 00:00:00 GMT"),
        (-9_223_372_036_854_775_808, "Sat, 01 Jan 0000 00:00:00 GMT"),
        (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (9_223_372_036_854_775_807, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ])
    func `a date is written as HTTP wants it`(second: Int64, text: String) {
        #expect(HTTPDate.text(second) == text)
    }
}
