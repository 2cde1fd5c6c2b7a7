import Storage
import Testing

@testable import StoragePostgres

@Suite struct OutageTests {
    private static let gone = StorageFailure("gone", kind: .unavailable)
    private static let limit = Retry.outageSecondsMax

    private func outage(from start: Double = 0) -> Outage {
        var outage = Outage()
        outage.recordFailure(Self.gone, ofTrialFrom: start, at: start)
        return outage
    }

    @Test func `for the first seconds of an outage, every writer tries to write`() {
        var outage = Outage()
        #expect(outage.refusal(at: 5) == nil && outage.seconds(at: 5) == 0)
        outage = self.outage(from: 5)
        outage.recordFailure(Self.gone, ofTrialFrom: 6, at: 5 + Self.limit - 1)
        #expect(outage.refusal(at: 5 + Self.limit - 0.5) == nil)
        #expect(outage.refusal(at: 5 + Self.limit - 0.5) == nil)
        #expect(outage.seconds(at: 5 + Self.limit) == Self.limit)
    }

    @Test func `in a long outage, one writer tries at a time, with a pause between attempts`() {
        var outage = outage()
        let late = Self.limit + 5
        #expect(outage.refusal(at: late) == nil)
        #expect(outage.refusal(at: late) == Self.gone)
        outage.recordFailure(Self.gone, ofTrialFrom: late, at: late + 2)
        #expect(outage.refusal(at: late + 2) == Self.gone)
        #expect(outage.refusal(at: late + 2 + Outage.trialSeconds) == nil)
    }

    @Test func `if the present attempt hangs for the maximum time, another writer tries`() {
        var outage = outage()
        let late = Self.limit + 5
        _ = outage.refusal(at: late)
        #expect(outage.refusal(at: late + Outage.trialSecondsMax - 1) == Self.gone)
        #expect(outage.refusal(at: late + Outage.trialSecondsMax) == nil)
    }

    @Test func `the first answer ends the outage, even if an earlier attempt fails later`() {
        var outage = outage()
        let late = Self.limit + 5
        outage.recordResponse(at: late)
        #expect(outage.refusal(at: late) == nil && outage.seconds(at: late) == 0)
        outage.recordFailure(Self.gone, ofTrialFrom: late - 1, at: late + 1)
        #expect(outage.seconds(at: late + 100) == 0)
        outage.recordFailure(Self.gone, ofTrialFrom: late, at: late + 1)
        #expect(outage.seconds(at: late + 100) == 100)
    }
}
