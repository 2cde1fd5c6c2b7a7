import Storage
import Testing

@testable import StoragePostgres

@Suite struct OutageTests {
    private static let gone = StorageFailure("gone", kind: .unavailable)
    private static let limit = Retry.outageSecondsMax

    @Test func `at first everyone tries`() {
        var outage = Outage()
        #expect(outage.refusal(at: 5) == nil && outage.seconds(at: 5) == 0)
        outage.note(Self.gone, at: 5)
        outage.note(Self.gone, at: 5 + Self.limit - 1)
        #expect(outage.refusal(at: 5 + Self.limit - 0.5) == nil)
        #expect(outage.refusal(at: 5 + Self.limit - 0.5) == nil)
        #expect(outage.seconds(at: 5 + Self.limit) == Self.limit)
    }

    @Test func `a server that stays away is tried by one at a time, and not at once again`() {
        var outage = Outage()
        outage.note(Self.gone, at: 0)
        let late = Self.limit + 5
        #expect(outage.refusal(at: late) == nil)
        #expect(outage.refusal(at: late) == Self.gone)
        #expect(outage.refusal(at: late + 100) == Self.gone, "one still tries")
        outage.note(Self.gone, at: late + 100)
        #expect(outage.refusal(at: late + 100) == Self.gone)
        #expect(outage.refusal(at: late + 100 + Outage.trialSeconds) == nil)
    }

    @Test func `it is over with the first who is let in`() {
        var outage = Outage()
        outage.note(Self.gone, at: 0)
        let late = Self.limit + 5
        _ = outage.refusal(at: late)
        outage.noteConnected()
        #expect(outage.refusal(at: late) == nil && outage.seconds(at: late) == 0)
    }
}
