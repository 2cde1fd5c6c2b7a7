import Foundation
import Testing

@testable import Perennial
@testable import PerennialContract

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An app never sends requests without a pause, whatever a server or a proxy answers.
@Suite struct BudgetTests {
    /// The faults of a server or a proxy.
    enum Fault: String, CaseIterable, Sendable {
        /// A proxy changes the tag of each answer, so that each request is answered at once.
        case newTag
        /// The server answers requests for changes at once.
        case sameTag
        case failing
        /// Requests about customers fail, and all other requests are answered.
        case failingCustomer
        case busyWithoutTime
        case noJSON
        case unreachable
        /// Each post is answered, but the server records none of its documents.
        case later
        /// A proxy before the server refuses each body as too large.
        case tooLarge
        /// The server's answers are of an earlier time, so that the app never accepts them.
        case stale
    }

    private static let minute: Int64 = 60_000
    private static let minutes: Int64 = 3

    private final class Proxy: Sendable {
        let server: LateServer
        let fault: Fault
        private let count = Locked(0)

        init(_ server: LateServer, _ fault: Fault) { (self.server, self.fault) = (server, fault) }

        @Sendable func send(_ request: URLRequest) async throws -> (Data, URLResponse) {
            let (body, answered) = try await server.send(request)
            let number = count.withLock { count in
                count += 1
                return count
            }
            let isCustomer = request.url?.path.contains("customers") == true
            let isPosting = request.httpMethod == "POST"
            let isKnown = request.value(forHTTPHeaderField: "If-None-Match") != nil
            let first = try LateServer.response(200, ["ETag": "\"1\""])
            switch fault {
            case .newTag where isCustomer:
                return (body, try LateServer.response(200, ["ETag": "W/\"\(number)-gzip\""]))
            case .sameTag where isCustomer && isKnown: return (Data(), try LateServer.response(304))
            case .failing where number > 3: return (Data(), try LateServer.response(500))
            case .failingCustomer where isCustomer && number > 3:
                return (Data(), try LateServer.response(503))
            case .busyWithoutTime where number > 3:
                return (Data(), try LateServer.response(429, ["Retry-After": "0"]))
            case .noJSON where number > 3: return (Data("<html>".utf8), first)
            case .unreachable where number > 3: throw URLError(.cannotConnectToHost)
            case .later where isPosting:
                let text = String(decoding: body, as: UTF8.self)
                return (Data(text.replacing("\"kept\"", with: "\"later\"").utf8), answered)
            case .tooLarge where isPosting: return (Data(), try LateServer.response(413))
            case .stale where isCustomer && isKnown:
                let old = PerennialContract.Customer(
                    customerID: "ann", environment: .production, asOf: Timestamp(milliseconds: 1))
                return (try JSONEncoder().encode(old), first)
            default: return (body, first)
            }
        }
    }

    private func app(
        in folder: TemporaryFolder, asking proxy: Proxy, by clock: VirtualClock,
        store: ListedStore = ListedStore(),
        _ change: (inout Perennial.Configuration) -> Void = { _ in }
    ) throws -> Perennial {
        var configuration = Perennial.Configuration(
            server: URL(string: "http://late.test")!, key: "pk_birds")
        configuration.folder = folder.url
        configuration.customer = "ann"
        configuration.log = Perennial.LogHandler(level: .error) { _, _, _ in }
        change(&configuration)
        return Perennial(
            configuration, store: store, clock: clock, files: DeviceFiles(configuration),
            transport: proxy.send)
    }

    /// Moves the clock once the app does nothing more, or after the largest number of checks.
    private func advance(
        _ clock: VirtualClock, of engine: Engine, asking server: LateServer
    ) async throws {
        var (last, calm) = (0, 0)
        for _ in 0..<Self.looksMax where calm < Self.calmLooks {
            let seen = await engine.session.requestsSent + server.answers + clock.sleepersMade
            calm = seen == last ? calm + 1 : 0
            last = seen
            await Task.yield()
        }
        try await eventually("every request has arrived") {
            await engine.whenAllHasArrived(at: server) {
                clock.advance(milliseconds: max(min(clock.nextWake ?? 500, 1_000), 100))
            }
        }
    }

    /// The number of checks without a request after which an app is considered to wait, and the
    /// largest number of checks. In so many checks, a loop without a pause sends much more than the
    /// budget.
    private static let (calmLooks, looksMax) = (10, 200)

    /// The largest number of requests in any minute.
    private func most(of times: [Int64]) -> Int {
        times.indices.map { start in
            times[start...].prefix { $0 < times[start] + Self.minute }.count
        }.max() ?? 0
    }

    @Test(arguments: Fault.allCases, [false, true])
    func `the SDK's loops never send more requests in a minute than the budget allows`(
        fault: Fault, isRestless: Bool
    ) async throws {
        let clock = VirtualClock()
        // The number of documents: as many as fit into one request, or few.
        let count = [.tooLarge, .later].contains(fault) ? 150 : 3
        let sales = (1...count).map { Sale.coins("\($0)", "coins") }
        let server = LateServer(
            .init(gives: AnswerRow.shop, market: sales), after: 0, by: clock, signer: nil)
        let proxy = Proxy(server, fault)
        let folder = try TemporaryFolder(server: "http://late.test")
        let perennial = try app(in: folder, asking: proxy, by: clock, store: ListedStore(sales)) {
            $0.waitsForChanges = true
        }
        let engine = try #require(perennial.engine)
        try await eventually("the launch is over") {
            await engine.state.isStoreRead && !server.requests.isEmpty
        }
        var steps = 0
        while clock.elapsed < Self.minutes * Self.minute {
            steps += 1
            if isRestless, steps % 4 == 0 {
                // The app repeatedly comes to the foreground, and the store never stops announcing.
                await engine.enterForeground()
                await engine.handle(.transaction(sales[0].document))
            }
            try await advance(clock, of: engine, asking: server)
        }
        await perennial.stop()
        let times = server.times
        #expect(most(of: times) <= RequestBudget.perMinute, "\(fault): \(times.count)")
        #expect(times.count >= 3)
    }

    @Test func `a full budget delays the next request until a minute after the first`() {
        var budget = RequestBudget()
        let now = RequestBudget.Moment(device: 0, machine: 0)
        for _ in 0..<RequestBudget.perMinute - RequestBudget.keptFree {
            #expect(budget.wait(at: now) == 0)
            budget.record(at: now)
        }
        #expect(budget.wait(at: now) == 60_000)
        budget.record(at: .init(device: 20_000, machine: 20_000))
        #expect(budget.wait(at: .init(device: 59_999, machine: 59_999)) == 1)
        #expect(budget.wait(at: .init(device: 60_000, machine: 0)) == 0)
        #expect(budget.wait(at: .init(device: 0, machine: 60_000)) == 0)
    }

    @Test func `if the budget is used up during a pause, the request after the pause is delayed`()
        async throws
    {
        let clock = VirtualClock()
        let server = LateServer(.init(gives: AnswerRow.shop), after: 0, by: clock, signer: nil)
        let folder = try TemporaryFolder(server: "http://late.test")
        let proxy = Proxy(server, .newTag)
        let perennial = try app(in: folder, asking: proxy, by: clock) { $0.waitsForChanges = true }
        let engine = try #require(perennial.engine)
        try await eventually("it waits for changes") { server.requests.count >= 3 }
        try await eventually("it pauses") { clock.nextWake != nil }
        let sent = server.requests.count
        await engine.recordRequests(RequestBudget.perMinute)
        clock.advance(milliseconds: clock.nextWake ?? 0)
        try await eventually("it pauses again") { clock.nextWake != nil }
        #expect(server.requests.count == sent)
        clock.advance(milliseconds: Self.minute)
        try await eventually("it asks again") { server.requests.count > sent }
        await perennial.stop()
    }

    @Test
    func `if a proxy changes the tags, an app that waits for changes asks less and less often`()
        async throws
    {
        let clock = VirtualClock()
        let server = LateServer(
            .init(gives: AnswerRow.shop), after: 0, by: clock, signer: nil)
        let proxy = Proxy(server, .newTag)
        let folder = try TemporaryFolder(server: "http://late.test")
        let perennial = try app(in: folder, asking: proxy, by: clock) { $0.waitsForChanges = true }
        let engine = try #require(perennial.engine)
        try await eventually("it waits for changes") { server.requests.count >= 3 }
        while clock.elapsed < 10 * Self.minute {
            try await eventually("it pauses") { clock.nextWake != nil }
            try await advance(clock, of: engine, asking: server)
        }
        await perennial.stop()
        // There are two requests of the launch, and then pauses of 1, 2, 4 … seconds.
        #expect((4...14).contains(server.requests.count), "\(server.requests.count)")
    }
}

extension Engine {
    /// Runs a closure if no request is pending, and returns whether the closure ran. No request is
    /// sent while it runs.
    fileprivate func whenAllHasArrived(
        at server: LateServer, _ body: @Sendable () -> Void
    ) -> Bool {
        guard session.requestsSent == server.requests.count else { return false }
        body()
        return true
    }

    fileprivate func recordRequests(_ count: Int) {
        for _ in 0..<count { session.budget.record(at: .init(by: clock)) }
    }
}
