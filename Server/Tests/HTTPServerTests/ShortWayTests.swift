import AppStoreTrust
import Engine
import Foundation
import Ledger
import Logging
import Storage
import StorageSQLite
import Synchronization
import Testing

@testable import HTTPServer

/// What the short way answers, the routes would answer with the same bytes; and all answers of a
/// connection come in the order of their requests.
@Suite struct ShortWayTests {
    private static let key = "authorization: Bearer pk_test_birds\r\n"

    private static func get(_ path: String, _ fields: String = key) -> String {
        "GET \(path) HTTP/1.1\r\nhost: birds\r\n\(fields)\r\n"
    }

    /// A server on a port of its own, and how often its database was read, by which way.
    private func withServer(
        tokens: TokenRules? = nil, _ body: @escaping @Sendable (Int, Reads) async throws -> Void
    ) async throws {
        let reads = Reads()
        var birds = AppSettings(
            id: "birds", bundleID: "com.example.birds", entitlements: ["pro": ["pro.monthly"]])
        birds.tokens = tokens
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let engine = Engine(
            database: CountedDatabase(database: try SQLiteDatabase.inMemory(), reads: reads),
            apps: [birds], verifiers: ["birds": Verifier(roots: .apple)],
            now: { TestServer.now }, logger: logger)
        try await engine.prepare()
        try await engine.keep(key: "pk_test_birds", app: "birds", kind: .app, name: "test")
        let (ports, listening) = AsyncStream<Int>.makeStream()
        let server = PerennialServer(engine: engine, logger: logger)
        let application = server.application(host: "127.0.0.1", port: 0) { listening.yield($0) }
        try await withThrowingTaskGroup { group in
            group.addTask { try await application.run() }
            var iterator = ports.makeAsyncIterator()
            let port = try #require(await iterator.next())
            try await body(port, reads)
            group.cancelAll()
        }
    }

    @Test(arguments: [nil, TokenRules()])
    func `both ways answer with the same bytes`(tokens: TokenRules?) async throws {
        try await withServer(tokens: tokens) { port, reads in
            let connection = try Connection(to: port)
            // The first asks whose the key is, and makes the key of the tokens.
            _ = try await connection.answers(to: Self.get("/v1/customers/anna"), count: 1)
            for id in ["anna", "an.na_~1|x", String(repeating: "a", count: 255)] {
                let (before, awaited) = (reads.atOnce, reads.awaited)
                let short = try await connection.answers(
                    to: Self.get("/v1/customers/\(id)"), count: 1)
                #expect(reads.atOnce == before + 1 && reads.awaited == awaited)
                let long = try await connection.answers(
                    to: Self.get("/v1/customers/\(id)?environment=production"), count: 1)
                #expect(reads.atOnce == before + 1 && reads.awaited > awaited)
                #expect(short[0].lasting == long[0].lasting)
                #expect(short[0].text.contains("\r\n\r\n{\"aliases\":[],\"as_of\":"))
                #expect(short[0].text.contains("\"token\"") == (tokens != nil))
            }
        }
    }

    @Test(
        arguments: [
            ("null", key, nil), ("anna", "", nil),
            ("anna", "authorization: Bearer pk_other\r\n", nil),
            ("", key, nil), ("a//b", key, nil), (String(repeating: "a", count: 256), key, nil),
            ("a%20b", key, "a b"), ("anna/", key, "anna"), ("anna#a", key, "anna#a"),
            ("anna", key + "connection: close\r\n", "anna"),
        ] as [(String, String, String?)])
    func `what is refused or not plain is answered by its route`(
        id: String, fields: String, answered: String?
    ) async throws {
        try await withServer { port, _ in
            let connection = try Connection(to: port)
            _ = try await connection.answers(to: Self.get("/v1/customers/anna"), count: 1)
            let asked = Self.get("/v1/customers/\(id)", fields + "x-request-id: mine\r\n")
            let answer = try await connection.answers(to: asked, count: 1)[0].text
            #expect(answer.contains("x-request-id: mine\r\n"))
            #expect(answer.hasPrefix("HTTP/1.1 200 ") == (answered != nil), "\(answer)")
            if let answered { #expect(answer.contains("\"customer_id\":\"\(answered)\"")) }
            guard fields.contains("close") else { return }
            await #expect(throws: Connection.Failure.self) {
                try await connection.answers(to: asked, count: 1)
            }
        }
    }

    @Test func `answers come in the order of their requests, by whichever way`() async throws {
        try await withServer { port, _ in
            let connection = try Connection(to: port)
            _ = try await connection.answers(to: Self.get("/v1/customers/anna"), count: 1)
            var (requests, names) = ("", [String]())
            for number in 0..<2_000 {
                names.append("c\(number)")
                switch number % 7 {
                case 0: requests += Self.get("/v1/customers/c\(number)?environment=production")
                case 1, 2:
                    requests += Self.get(
                        "/v1/customers/c\(number)", Self.key + "content-length: 2\r\n"
                    )
                    .appending("{}")
                default: requests += Self.get("/v1/customers/c\(number)")
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
        try await withServer { port, reads in
            let first = try Connection(to: port)
            _ = try await first.answers(to: Self.get("/v1/customers/anna"), count: 1)
            // On one event loop or two: at least one cohort is full.
            let count = 3 * Cohort.questionsMax
            let connections = try (0..<count).map { _ in try Connection(to: port) }
            for (number, connection) in connections.enumerated() {
                try connection.sendAll(Self.get("/v1/customers/c\(number)"))
            }
            for (number, connection) in connections.enumerated() {
                let answer = try await connection.answers(to: "", count: 1)[0].text
                #expect(answer.contains("\"customer_id\":\"c\(number)\""))
            }
            #expect(reads.atOnce > 1)
        }
    }

    @Test func `who says no more after asking is answered`() async throws {
        try await withServer { port, reads in
            let first = try Connection(to: port)
            _ = try await first.answers(to: Self.get("/v1/customers/anna"), count: 1)
            let last = try Connection(to: port)
            let asked = Self.get("/v1/customers/anna")
            let answers = try await last.answers(to: asked + asked, count: 2, closing: true)
            #expect(answers.count == 2)
            #expect(reads.atOnce >= 2)
        }
    }

    @Test(arguments: [(key, "200"), ("authorization: Bearer pk_other\r\n", "401")])
    func `who says no more after asking is answered by the route, too`(
        fields: String, status: String
    ) async throws {
        try await withServer { port, _ in
            // Nobody has asked whose the key is.
            let asked = Self.get("/v1/customers/anna", fields)
            let answers = try await Connection(to: port).answers(
                to: asked, count: 1, closing: true)
            #expect(answers[0].text.hasPrefix("HTTP/1.1 \(status) "))
        }
    }

    @Test func `a question is answered before what cannot be read after it`() async throws {
        try await withServer { port, _ in
            let asked = Self.get("/v1/customers/anna") + "no HTTP\r\n\r\n"
            let answers = try await Connection(to: port).answers(to: asked, count: 2)
            #expect(answers[0].text.hasPrefix("HTTP/1.1 200 "))
            #expect(answers[1].text.hasPrefix("HTTP/1.1 400 "))
        }
    }

    @Test func `who keeps the connection alive by a word takes the short way, too`() async throws {
        try await withServer { port, reads in
            let asked = Self.get("/v1/customers/anna", Self.key + "connection: Keep-Alive\r\n")
            let connection = try Connection(to: port)
            _ = try await connection.answers(to: asked, count: 1)
            let awaited = reads.awaited
            _ = try await connection.answers(to: asked, count: 1)
            #expect(reads.awaited == awaited)
        }
    }

    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (1_798_761_599, "Thu, 31 Dec 2026 23:59:59 GMT"),
    ])
    func `a date is written as HTTP wants it`(second: Int64, text: String) {
        #expect(HTTPDate.text(second) == text)
    }
}

/// How often a database was read.
private final class Reads: Sendable {
    private let counts = Mutex((atOnce: 0, awaited: 0))

    var atOnce: Int { counts.withLock { $0.atOnce } }
    var awaited: Int { counts.withLock { $0.awaited } }

    func addAtOnce() { counts.withLock { $0.atOnce += 1 } }
    func addAwaited() { counts.withLock { $0.awaited += 1 } }
}

private struct CountedDatabase: LocalDatabase {
    let database: any LocalDatabase
    let reads: Reads

    var dialect: Dialect { database.dialect }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Storage.Connection) throws -> Value
    ) async throws -> Value { try await database.write(body) }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Storage.Connection) throws -> Value
    ) async throws -> Value {
        reads.addAwaited()
        return try await database.read(body)
    }

    func readAtOnce<Value>(_ body: (any Storage.Connection) throws -> Value) throws -> Value {
        reads.addAtOnce()
        return try database.readAtOnce(body)
    }

    func close() { database.close() }
}

/// A client that sends what it likes, also the next request before it has the last one's answer.
private final class Connection: Sendable {
    private static let answerSeconds = 30

    struct Answer {
        var text: String
        /// Without what differs from answer to answer.
        var lasting: [Substring] {
            text.split(separator: "\r\n").filter { line in
                !line.hasPrefix("x-request-id") && !line.hasPrefix("Date")
            }.sorted()
        }
    }

    struct Failure: Error {
        var call: String
        var code = errno
    }

    private let descriptor: Int32

    init(to port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = in_port_t(port).bigEndian
        let descriptor = descriptor
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw Failure(call: "connect") }
        var limit = timeval(tv_sec: Self.answerSeconds, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// All requests are sent before the first answer is read.
    ///
    /// - Parameter closing: whether to say afterwards that no more will come.
    func answers(
        to requests: String, count: Int, closing: Bool = false
    ) async throws -> [Answer] {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { [self] in
                continuation.resume(
                    with: Result {
                        try sendAll(requests)
                        if closing { shutdown(descriptor, Int32(SHUT_WR)) }
                        return try read(count)
                    })
            }
        }
    }

    func sendAll(_ requests: String) throws {
        var rest = Array(requests.utf8)[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0) }
            guard sent > 0 else { throw Failure(call: "send") }
            rest = rest.dropFirst(sent)
        }
    }

    private func read(_ count: Int) throws -> [Answer] {
        var answers: [Answer] = []
        var text = ""
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while answers.count < count {
            if let answer = Self.first(of: &text) {
                answers.append(answer)
                continue
            }
            let received = recv(descriptor, &chunk, chunk.count, 0)
            guard received > 0 else { throw Failure(call: "recv") }
            text += String(decoding: chunk[..<received], as: UTF8.self)
        }
        return answers
    }

    /// Takes the first answer off what was read, where it is whole.
    private static func first(of text: inout String) -> Answer? {
        guard let end = text.firstRange(of: "\r\n\r\n"),
            let length = text[..<end.lowerBound].firstMatch(of: /(?i)content-length: (\d+)/),
            let count = Int(length.1), text[end.upperBound...].utf8.count >= count
        else { return nil }
        let rest = text.utf8.index(end.upperBound, offsetBy: count)
        defer { text = String(text[rest...]) }
        return Answer(text: String(text[..<rest]))
    }
}
