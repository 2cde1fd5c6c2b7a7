import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct RateLimitTests {
    /// How many of sixty calls in one second are answered.
    private func answered(
        _ line: String, in environment: SimulatedEnvironment, _ time: RateLimits.Time
    ) async throws -> Int {
        let stage = try Stage { $0.apiRateLimits = time }
        let request = try Ask(line, in: environment).request()
        var count = 0
        for _ in 0..<60 {
            if await stage.simulator.process(request).status != 429 { count += 1 }
        }
        return count
    }

    @Test(arguments: [
        ("GET v1/transactions/1", SimulatedEnvironment.production, 50),
        ("GET v1/transactions/1", .sandbox, 5), ("GET v1/lookup/M1", .production, 10),
        ("PUT v1/subscriptions/extend/1", .production, 20),
        ("PUT v1/subscriptions/extend/1", .sandbox, 2),
        ("POST v1/notifications/test", .production, 1),
        ("POST v1/notifications/test", .sandbox, 1),
        ("GET v1/subscriptions/extend/mass/a/b", .production, 60),
    ])
    func `each API call has a limit per second, which is ten times lower in the sandbox`(
        line: String, environment: SimulatedEnvironment, limit: Int
    ) async throws {
        #expect(try await answered(line, in: environment, .virtual) == limit)
        #expect(try await answered(line, in: environment, .real) == limit)
        #expect(try await answered(line, in: environment, .off) == 60)
    }

    @Test func `the refusal of a call over the limit says when to retry, in milliseconds`()
        async throws
    {
        let stage = try Stage { $0.apiRateLimits = .virtual }
        let ask = Ask("POST v1/notifications/test")
        #expect(try await stage.answer(ask).status == 200)
        let answer = try await stage.answer(ask)
        #expect(answer.status == 429 && answer.body?["errorCode"] == 4_290_000)
        #expect(answer.retryAfter == AppStoreDate(milliseconds: 1_768_075_201_000))
        try await stage.advance("PT1S")
        #expect(try await stage.answer(ask).status == 200)
    }
}
