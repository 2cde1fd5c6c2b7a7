import Engine
import Ledger
import Logging
import PerennialContract
import Storage
import Synchronization
import Testing

@testable import HTTPServer

/// How the server refuses the requests of a caller who sends too many.
@Suite struct RequestLimitTests {
    private static let secret = "authorization: Bearer sk_test_birds\r\n"
    /// The number of requests after which one must have been refused. With a limit of two in a
    /// minute, no test is so slow that ten are accepted.
    private static let triesMax = 10

    private static func limits(
        address: Int = 0, appKey: Int = 0, secretKey: Int = 0, withoutKey: Int? = nil
    ) -> RequestLimits {
        var limits = RequestLimits()
        limits.withoutKeyOfAddress = withoutKey ?? address
        (limits.ofAddress, limits.ofAppKey, limits.ofSecretKey) = (address, appKey, secretKey)
        return limits
    }

    /// Runs a server behind a trusted proxy on this machine.
    private static func run(
        _ limits: RequestLimits, _ birds: AppSettings = ListeningServer.birds,
        _ body: @escaping @Sendable (ListeningServer) async throws -> Void
    ) async throws {
        let origin = try #require(PageOrigin(url: "http://localhost"))
        let access = DashboardAccess(
            for: origin, behind: TrustedProxy(addresses: ["127.0.0.1"]))
        try await ListeningServer.run(birds, requests: limits, dashboard: access) { server in
            try await server.engine.keys.add(
                key: "sk_test_birds", app: "birds", kind: .secret, name: "test")
            try await body(server)
        }
    }

    private static func forwarded(_ address: String) -> String {
        "x-forwarded-for: \(address)\r\n"
    }

    /// Sends a request until it is refused. Returns nil if it is accepted every time.
    private static func refusal(
        _ path: String, _ fields: String, by server: ListeningServer, status: Int = 429,
        host: String = "birds"
    ) async throws -> Connection.Answer? {
        let request = "GET \(path) HTTP/1.1\r\nhost: \(host)\r\n\(fields)\r\n"
        let connection = try server.connect()
        for _ in 0..<triesMax {
            let answer = try await connection.answers(to: request, count: 1)[0]
            if answer.status == status { return answer }
        }
        return nil
    }

    @Test func `the response to a request over a limit names the limit and the time to retry`()
        async throws
    {
        try await Self.run(Self.limits(address: 2)) { server in
            let fields = RequestText.key + Self.forwarded("192.0.2.7")
            let refused = try #require(
                try await Self.refusal("/v1/customers/anna", fields, by: server))
            let seconds = try #require(refused.text.firstMatch(of: /(?i)retry-after: (\d+)/))
            #expect((1...30).contains(try #require(Int(seconds.1))))
            #expect(refused.body.contains(#""code":"limit_reached""#), "\(refused.body)")
            #expect(refused.body.contains(#""limit":"requests_of_address""#))
            #expect(refused.body.contains("At most 2 requests a minute"))
            #expect(refused.body.contains("requests_of_address below limits in perennial.yaml"))
            let metrics = try await server.connect().answers(
                to: RequestText.get(Paths.metrics, fields), count: 1)[0].body
            #expect(
                metrics.contains(
                    "perennial_limit_refusals_total{limit=\"requests_of_address\"} 1\n"))
        }
    }

    @Test func `the limit of an IPv6 address covers its whole network, and no other network`()
        async throws
    {
        try await Self.run(Self.limits(address: 2)) { server in
            func status(_ address: String) async throws -> Int {
                try await server.connect().answers(
                    to: RequestText.get(
                        "/v1/customers/anna", RequestText.key + Self.forwarded(address)),
                    count: 1)[0].status
            }
            let fields = RequestText.key + Self.forwarded("2001:db8::1")
            #expect(try await Self.refusal("/v1/customers/anna", fields, by: server) != nil)
            #expect(try await status("2001:db8:0:1::1") == 200)
            #expect(try await status("192.0.2.8") == 200)
            // At most one of the network's two requests has been refilled.
            let others = [try await status("2001:db8::2"), try await status("2001:db8::3")]
            #expect(others.contains(429))
        }
    }

    @Test(arguments: ["", "x-forwarded-for: 127.0.0.1\r\n", "x-forwarded-for: nobody\r\n"])
    func `a trusted proxy that names no client is not limited`(field: String) async throws {
        try await Self.run(Self.limits(address: 2)) { server in
            let refused = try await Self.refusal(
                "/v1/customers/anna", RequestText.key + field, by: server)
            #expect(refused == nil)
        }
    }

    @Test(arguments: [Paths.health, Paths.ready, Paths.metrics, Paths.openAPI])
    func `requests of operators are never limited`(path: String) async throws {
        try await Self.run(Self.limits(address: 1)) { server in
            let fields = Self.forwarded("192.0.2.7")
            let refused = try await Self.refusal(path, fields, by: server)
            #expect(refused == nil)
        }
    }

    @Test func `notifications are never limited`() async throws {
        try await Self.run(Self.limits(address: 1)) { server in
            let connection = try server.connect()
            for _ in 0..<Self.triesMax {
                let answer = try await connection.answers(
                    to: RequestText.post("a.b.c", Self.forwarded("192.0.2.7")), count: 1)[0]
                #expect(answer.status == 400, "The body is no notification.")
            }
        }
    }

    @Test func `a client of verifyReceipt is told to try again, in Apple's form`() async throws {
        try await Self.run(Self.limits(address: 2)) { server in
            let request = RequestText.post(
                body: #"{"receipt-data": "AAAA"}"#, Self.forwarded("192.0.2.7"),
                to: Paths.verifyReceipt)
            let connection = try server.connect()
            var bodies: [String] = []
            for _ in 0..<Self.triesMax {
                let answer = try await connection.answers(to: request, count: 1)[0]
                #expect(answer.status == 200)
                bodies.append(String(answer.body))
            }
            #expect(!bodies[0].contains("21005"))
            #expect(bodies.contains { $0.contains("21005") })
        }
    }

    @Test func `a page of the dashboard is limited, and the refusal is a page`() async throws {
        try await Self.run(Self.limits(address: 2)) { server in
            let refused = try #require(
                try await Self.refusal(
                    "/login", Self.forwarded("192.0.2.7"), by: server, host: "localhost"))
            #expect(refused.body.contains("<html") && refused.body.contains("limit_reached"))
            #expect(refused.text.contains(/(?i)retry-after: \d+/))
        }
    }

    @Test func `a known secret key is not subject to the limit of its address`() async throws {
        try await Self.run(Self.limits(address: 2)) { server in
            let address = Self.forwarded("192.0.2.7")
            try await server.keys.learn(from: server.engine)
            let stranger = "authorization: Bearer sk_test_made_up\r\n" + address
            #expect(
                try await Self.refusal("/v1/customers/anna", stranger, by: server) != nil,
                "a key that nobody knows is limited")
            #expect(
                try await Self.refusal("/v1/customers/anna", Self.secret + address, by: server)
                    == nil)
        }
    }

    /// Sends a made-up key, or none, until the address is refused.
    private static func flood(
        _ server: ListeningServer, from address: String, key: String
    ) async throws {
        let refused = try #require(
            try await refusal("/v1/customers/anna", key + address, by: server))
        #expect(refused.body.contains(#""limit":"requests_without_key_of_address""#))
    }

    @Test(arguments: ["", "authorization: Bearer pk_made_up\r\n"])
    func `requests without a valid key do not use up the limit of keys from the same address`(
        key: String
    ) async throws {
        var birds = ListeningServer.birds
        birds.revenueCat = RevenueCatSettings(keys: ["appl_test_birds"])
        try await Self.run(Self.limits(address: 100, withoutKey: 2), birds) { server in
            let address = Self.forwarded("192.0.2.7")
            func statuses() async throws -> [Int] {
                var statuses: [Int] = []
                for (path, key) in [
                    ("/v1/customers/anna", RequestText.key), ("/v1/customers/anna", Self.secret),
                    ("/v1/subscribers/anna", "authorization: Bearer appl_test_birds\r\n"),
                ] {
                    statuses += try await server.connect().answers(
                        to: RequestText.get(path, key + address), count: 1
                    ).map(\.status)
                }
                return statuses
            }
            // As at the start of the program.
            try await server.keys.learn(from: server.engine)
            try await Self.flood(server, from: address, key: key)
            #expect(try await statuses().allSatisfy { $0 < 300 })
            // As when the configuration is read again.
            server.keys.replace(refused: [])
            try await Self.flood(server, from: address, key: key)
            #expect(try await statuses().allSatisfy { $0 < 300 })
        }
    }

    @Test func `the limit of app keys does not apply to secret keys`()
        async throws
    {
        try await Self.run(Self.limits(appKey: 2)) { server in
            let path = "/v1/customers/anna"
            let refused = try #require(
                try await Self.refusal(path, RequestText.key, by: server))
            #expect(refused.body.contains(#""limit":"requests_of_app_key""#))
            #expect(try await Self.refusal(path, Self.secret, by: server) == nil)
        }
    }

    /// To RevenueCat's SDK, a 4xx is final: it would finish a transaction that was not recorded.
    @Test(arguments: [limits(address: 2), limits(appKey: 2)])
    func `RevenueCat's SDK is asked to repeat a refused request`(limits: RequestLimits)
        async throws
    {
        var birds = ListeningServer.birds
        birds.revenueCat = RevenueCatSettings(keys: ["appl_test_birds"])
        try await Self.run(limits, birds) { server in
            let fields =
                "authorization: Bearer appl_test_birds\r\n" + Self.forwarded("192.0.2.7")
            let refused = try #require(
                try await Self.refusal(
                    "/v1/subscribers/anna", fields, by: server, status: 503))
            #expect(refused.text.contains(/(?i)retry-after: \d+/))
            #expect(refused.body.contains("requests a minute"), "\(refused.body)")
            let post = RequestText.post(
                body: #"{"app_user_id": "anna", "fetch_token": "a.b.c"}"#, fields,
                to: "/v1/receipts")
            let connection = try server.connect()
            var statuses: Set<Int> = []
            for _ in 0..<3 {
                statuses.insert(try await connection.answers(to: post, count: 1)[0].status)
            }
            #expect(statuses.isSubset(of: [400, 503]) && statuses.contains(503), "\(statuses)")
        }
    }

    // MARK: - The meter

    private static func key(_ number: UInt8, _ kind: KeyKind) -> StoredKey {
        StoredKey(
            app: "birds", hash: [number], kind: kind, name: "test",
            createdAt: Instant(milliseconds: 0))
    }

    private static func meter(_ limits: RequestLimits) -> RequestMeter {
        RequestMeter(
            limits, LimitRefusals(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
    }

    @Test func `a limit of 0 means no limit`() throws {
        let meter = Self.meter(Self.limits())
        let now = ContinuousClock.now
        for _ in 0..<1_000 {
            try meter.count(from: "192.0.2.7", hasKey: true, at: now)
            try meter.count(from: "192.0.2.7", hasKey: false, at: now)
            try meter.count(with: Self.key(1, .app), at: now)
            try meter.count(with: Self.key(2, .secret), at: now)
        }
    }

    @Test func `each key has its own budget, by the limit of its kind`() throws {
        let meter = Self.meter(Self.limits(appKey: 2, secretKey: 3))
        let now = ContinuousClock.now
        for (number, kind, max) in [(1, .app, 2), (2, .app, 2), (3, .secret, 3)]
            as [(UInt8, KeyKind, Int)]
        {
            let key = Self.key(number, kind)
            for _ in 0..<max { try meter.count(with: key, at: now) }
            let refused = try #require(throws: ProblemError.self) {
                try meter.count(with: key, at: now)
            }
            #expect(refused.problem.limit == "requests_of_\(kind)_key")
            #expect(refused.headers[.retryAfter] == "\(60 / max)")
            try meter.count(with: key, at: now + .seconds(60 / max))
        }
    }

    @Test func `the log has one line in a minute for each limit`() {
        let log = CollectedLog()
        let refusals = LimitRefusals(Logger(label: "test") { _ in log })
        let start = ContinuousClock.now
        for (limit, second) in [
            (.requestsOfAddress, 0), (.requestsOfAddress, 1), (.waitsOfKey, 2),
            (.requestsOfAddress, 59), (.requestsOfAddress, 60), (.waitsOfKey, 61),
        ] as [(CallerLimit, Int)] {
            refusals.record(limit, max: 7, of: "\(second)", at: start + .seconds(second))
        }
        #expect(
            log.lines == [
                "caller=0 limit=requests_of_address max=7", "caller=2 limit=waits_of_key max=7",
                "caller=60 limit=requests_of_address max=7",
            ])
        #expect(refusals.counts == [.requestsOfAddress: 4, .waitsOfKey: 2])
    }
}

/// The metadata of all lines of a log.
private final class CollectedLog: LogHandler, Sendable {
    private let collected = Mutex<[String]>([])

    var lines: [String] { collected.withLock { $0 } }
    var metadata: Logger.Metadata {
        get { [:] }
        set { _ = newValue }
    }
    var logLevel: Logger.Level {
        get { .trace }
        set { _ = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { _ = newValue }
    }

    func log(event: LogEvent) {
        let facts = (event.metadata ?? [:]).map { "\($0)=\($1)" }.sorted()
        collected.withLock { $0.append(facts.joined(separator: " ")) }
    }
}
