import Simulator
import Testing

@testable import Convergence

/// What a proof must still cover after options have narrowed its plan.
@Suite struct ReachTests {
    private static let chance = LifecycleRow.refundProrated
    private static let called = LifecycleRow.retryExhausted

    private static func row(_ row: LifecycleRow) -> String { "row \(row.rawValue)" }

    @Test func `a proof run without options must cover every expected case`() {
        #expect(Coverage.required(of: Proof.PlanOverrides()) == Coverage.expected)
        #expect(!ScriptedCase.rows.contains(Self.chance) && ScriptedCase.rows.contains(Self.called))
    }

    private static let rows:
        [(narrowing: Proof.PlanOverrides, demanded: [String], left: [String])] = [
            (Proof.PlanOverrides(accounts: 1), [row(called), "API slow"], [row(chance), "race"]),
            (Proof.PlanOverrides(acts: 0), [row(called), "API slow"], [row(chance), "held open"]),
            (
                Proof.PlanOverrides(turn: called.rawValue),
                [row(called), row(chance), "family crashes"],
                [row(.upgrade), "API expired_token"]
            ),
            (Proof.PlanOverrides(turn: 0), [row(chance)], [row(called)]),
            (
                Proof.PlanOverrides(accounts: 0, turn: called.rawValue),
                [row(called), "family crashes"],
                [row(chance), "API slow"]
            ),
            (
                Proof.PlanOverrides(days: 3), ["family crashes", "speech legacy"],
                [row(called), "API slow"]
            ),
            (
                Proof.PlanOverrides(families: [.crashes]), ["family crashes"],
                [row(called), "family skew", "server started again"]
            ),
            (
                Proof.PlanOverrides(speech: .modern), [row(called), row(chance), "speech modern"],
                ["speech legacy"]
            ),
            (
                Proof.PlanOverrides(speech: .legacy), ["speech legacy"],
                ["speech modern", row(called)]
            ),
        ]

    @Test(arguments: rows.indices)
    func `a proof run with options must cover each case that its options do not exclude`(
        number: Int
    ) {
        let (narrowing, demanded, left) = Self.rows[number]
        let all = Set(Coverage.required(of: narrowing))
        #expect(all.isSuperset(of: demanded) && all.isDisjoint(with: left), "\(narrowing)")
        #expect(all.isStrictSubset(of: Coverage.expected))
    }

    @Test func `a case that the trials have covered is not reported as missing`() {
        var tally = Tally()
        let narrowing = Proof.PlanOverrides(accounts: 0, turn: Self.called.rawValue)
        for name in Coverage.required(of: narrowing) { tally.add(name) }
        #expect(Coverage.missing(from: tally, of: narrowing).isEmpty)
        #expect(Coverage.missing(from: Tally(), of: narrowing).contains(Self.row(Self.called)))
    }
}
