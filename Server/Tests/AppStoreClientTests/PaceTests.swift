import AppStoreFormats
import Synchronization
import Testing

@testable import AppStoreClient

@Suite struct PaceTests {
    static let budget = CallBudget(millisecondsPerCall: 100, burst: 3)

    private func date(_ milliseconds: Int64) -> AppStoreDate {
        AppStoreDate(milliseconds: 1_767_268_800_000 + milliseconds)
    }

    @Test func `three calls may be sent at once, and then one call every 100 milliseconds`() {
        var pace = Pace()
        let burst = (0..<3).map { _ in pace.consumeCall(Self.budget, at: date(0)) }
        #expect(burst == [nil, nil, nil])
        #expect(pace.consumeCall(Self.budget, at: date(0)) == date(100))
        #expect(pace.consumeCall(Self.budget, at: date(99)) == date(100))
        #expect(pace.consumeCall(Self.budget, at: date(100)) == nil)
        #expect(pace.consumeCall(Self.budget, at: date(100)) == date(200))
    }

    @Test func `a delayed call may be sent at the time that the rate limiter names`() {
        var pace = Pace()
        for _ in 0..<Self.budget.burst { _ = pace.consumeCall(Self.budget, at: date(0)) }
        var now = date(0)
        for _ in 0..<20 {
            now = pace.consumeCall(Self.budget, at: now) ?? now
            #expect(pace.consumeCall(Self.budget, at: now) == nil)
        }
        #expect(now == date(20 * 100))
    }

    @Test func `the rate limiter lets calls through in the order of their requests`() {
        var pace = Pace()
        let turns = (0..<5).map { _ in pace.reserve(Self.budget, at: date(0)) }
        #expect(turns == [date(0), date(0), date(0), date(100), date(200)])
        #expect(pace.consumeCall(Self.budget, at: date(250)) == date(300))
        pace.pause(Self.budget, until: date(5000))
        #expect(pace.reserve(Self.budget, at: date(300)) == date(5000))
        #expect(pace.reserve(Self.budget, at: date(300)) == date(5100))
    }

    @Test func `a waiting rate limiter delays calls until their turn, and refuses no call`()
        async throws
    {
        let waits = Mutex<[Duration]>([])
        let pacing = RateLimiter.waiting { wait in waits.withLock { $0.append(wait) } }
        let budget = Endpoint.order.budget(in: .sandbox)
        for _ in 0..<budget.burst + 2 {
            #expect(try await pacing.turn(.order, .sandbox, date(0)) == nil)
        }
        let waited = waits.withLock { $0 }
        #expect(waited.dropLast(2).allSatisfy { $0 == .zero })
        let call = Duration.milliseconds(budget.millisecondsPerCall)
        #expect(waited.suffix(2) == [call, call * 2])
    }

    @Test func `a waiting call also waits for a pause that Apple requests in the meantime`()
        async throws
    {
        let waits = Mutex<[Duration]>([])
        let begun = Mutex<RateLimiter?>(nil)
        let pacing = RateLimiter.waiting { wait in
            let isThird = waits.withLock { waits in
                waits.append(wait)
                return waits.count == 3
            }
            guard isThird else { return }
            try await begun.withLock { $0 }?.rest(.order, .production, date(5000))
        }
        begun.withLock { $0 = pacing }
        for _ in 0..<3 { _ = try await pacing.turn(.order, .production, date(0)) }
        #expect(waits.withLock { $0 }.count == 4)
        #expect(waits.withLock { $0 }.reduce(.zero, +) == .seconds(5))
    }

    @Test func `a restored rate limiter continues from its stored state`() {
        var pace = Pace()
        for _ in 0..<3 { _ = pace.consumeCall(Self.budget, at: date(0)) }
        var other = Pace(fullAt: pace.fullAt)
        #expect(other.consumeCall(Self.budget, at: date(10)) == date(100))
    }

    @Test func `no call is sent before the end of a pause`() {
        var pace = Pace()
        pace.pause(Self.budget, until: date(5000))
        #expect(pace.consumeCall(Self.budget, at: date(0)) == date(5000))
        #expect(pace.consumeCall(Self.budget, at: date(4999)) == date(5000))
        #expect(pace.consumeCall(Self.budget, at: date(5000)) == nil)
        #expect(pace.consumeCall(Self.budget, at: date(5000)) == date(5100))
    }

    @Test func `after the clock was set back, the wait is at most an hour`() {
        var pace = Pace(fullAt: date(86_400_000))
        #expect(pace.consumeCall(Self.budget, at: date(0)) == nil)
        #expect(pace.fullAt == date(100))
    }

    /// Apple may count calls in each second of the clock, or in any interval of one second.
    @Test(arguments: Endpoint.allCases, [StoreEnvironment.production, .sandbox])
    func `the rate limiter lets through no more calls per second than Apple allows`(
        endpoint: Endpoint, environment: StoreEnvironment
    ) {
        let budget = endpoint.budget(in: environment)
        let tenth: Int64 = environment == .production ? 1 : 10
        let allowed = max(1, endpoint.allowedPerSecond / tenth)
        var pace = Pace()
        var went: [Int64] = []
        for millisecond in Int64(0)..<5000 {
            while pace.consumeCall(budget, at: date(millisecond)) == nil {
                went.append(millisecond)
            }
        }
        let busiest = went.map { start in
            went.count { (start..<(start + 1000)).contains($0) }
        }.max()
        #expect(busiest.map { Int64($0) <= allowed } == true)
        // Calls are not delayed too much: in 5 seconds at least two thirds of the allowed calls are
        // sent.
        #expect(Int64(went.count) * 3 * tenth >= 5 * endpoint.allowedPerSecond * 2)
    }
}
