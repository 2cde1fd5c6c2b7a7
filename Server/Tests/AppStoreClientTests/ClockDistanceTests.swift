import AppStoreFormats
import Testing

@testable import AppStoreClient

/// What the time in the store's answers shows of our clock.
@Suite struct ClockDistanceTests {
    /// The clock at which a question is put, whose answer comes so many seconds later.
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

    /// By how much the store's date is behind the question, how long the answer takes, and what
    /// that shows, in seconds.
    @Test(
        arguments: [
            (0, 0, 0), (2, 0, 0), (602, 0, 600), (602, 20, 600), (3, 0, 1),
            (-1, 1, 0), (-20, 20, 0), (-620, 20, -600), (-600, 0, -600),
        ] as [(Int64, Int64, Int64)])
    func `only what seconds and the way of an answer do not explain is a difference`(
        behind: Int64, takes: Int64, shows: Int64
    ) async throws {
        let date = Self.asked - behind * 1000
        let found = try await distance(of: date, after: takes)
        #expect(found == .seconds(shows))
    }

    @Test func `a clock that is set back while an answer is on its way makes no difference`()
        async throws
    {
        let found = try await distance(of: Self.asked - 300_000, after: -600)
        #expect(found == .zero)
    }

    @Test func `an answer that refuses has the time as well`() async throws {
        let found = try await distance(of: Self.asked - 602_000, after: 0, status: 401)
        #expect(found == .seconds(600))
    }

    @Test func `without a date nothing is shown`() async throws {
        #expect(try await distance(of: nil, after: 0) == nil)
    }
}
