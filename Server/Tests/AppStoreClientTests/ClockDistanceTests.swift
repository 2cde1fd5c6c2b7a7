import AppStoreFormats
import Testing

@testable import AppStoreClient

/// The difference between the App Store's clock and ours, from the date in its responses.
@Suite struct ClockDistanceTests {
    /// The time when the request is sent.
    private static let asked: Int64 = 1_767_268_800_000

    private func distance(
        of date: Int64?, after seconds: Int64, status: Int = 200
    ) async throws -> Duration? {
        let clock = Clock(Self.asked)
        let distance = ClockOffset()
        let answer = AppStoreResponse(
            status: status, date: date.map { AppStoreDate(milliseconds: $0) })
        let send = distance.observing(now: clock.now) { _ in
            clock.advance(seconds: seconds)
            return answer
        }
        let question = AppStoreRequest(
            method: "GET", path: "/", query: [], authorization: nil, body: nil,
            environment: .production)
        #expect(try await send(question) == answer)
        return distance.ahead
    }

    /// Each row: how many seconds the store's date is behind the request, how many seconds the
    /// response takes, and the difference that is reported.
    @Test(
        arguments: [
            (0, 0, 0), (2, 0, 0), (602, 0, 600), (602, 20, 600), (3, 0, 1),
            (-1, 1, 0), (-20, 20, 0), (-620, 20, -600), (-600, 0, -600),
        ] as [(Int64, Int64, Int64)])
    func `latency and rounding to seconds are not reported as a clock difference`(
        behind: Int64, takes: Int64, shows: Int64
    ) async throws {
        let date = Self.asked - behind * 1000
        let found = try await distance(of: date, after: takes)
        #expect(found == .seconds(shows))
    }

    @Test func `a clock that is set back during a request is not reported as a difference`()
        async throws
    {
        let found = try await distance(of: Self.asked - 300_000, after: -600)
        #expect(found == .zero)
    }

    @Test func `a request that Apple refuses also reports the clock difference`() async throws {
        let found = try await distance(of: Self.asked - 602_000, after: 0, status: 401)
        #expect(found == .seconds(600))
    }

    @Test func `a response without a date reports no clock difference`() async throws {
        #expect(try await distance(of: nil, after: 0) == nil)
    }
}
