import Ledger
import Rehearsal
import Testing

@testable import Program

/// How a second comparison changes the differences that the first one found.
@Suite struct RehearsalDifferenceTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)

    /// A difference in one aspect. Nothing explains it, unless a cause is given.
    private static func difference(
        _ aspect: RehearsalAspect, _ cause: RehearsalCause = .unexplained
    ) -> RehearsalDifference {
        let comparison = RehearsalComparison(
            ours: .none, theirs: .none, evidence: RehearsalEvidence(), rules: RehearsalRules(),
            at: now)
        var difference = RehearsalDifference(
            "anna", "pro", aspect, comparison, isOwnHere: false, there: "")
        difference.cause = cause
        return difference
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var first: [RehearsalAspect: RehearsalCause]
        var second: [RehearsalAspect: RehearsalCause]
        var finds: [RehearsalAspect: RehearsalCause]
        var testDescription: String { name }
    }

    @Test(arguments: [
        Row(
            name: "a difference that is gone was one of time",
            first: [.until: .unexplained], second: [:], finds: [.until: .lateThere]),
        Row(
            name: "a difference that stays has its new cause",
            first: [.until: .missedThere], second: [.until: .unexplained],
            finds: [.until: .unexplained]),
        Row(
            name: "a difference that the first look did not have is unexplained",
            first: [.until: .unexplained], second: [.renewal: .missedThere],
            finds: [.until: .lateThere, .renewal: .unexplained]),
        Row(
            name: "a difference with a harmless cause is kept",
            first: [.until: .unexplained, .product: .productMapping], second: [:],
            finds: [.until: .lateThere, .product: .productMapping]),
    ])
    func `a second comparison confirms, explains or adds differences`(row: Row) {
        let found = RehearsalDifference.confirmed(
            row.first.map { Self.difference($0.key, $0.value) },
            by: row.second.map { Self.difference($0.key, $0.value) }, at: Self.now)
        let causes = Dictionary(found.map { ($0.aspect, $0.cause) }) { one, _ in one }
        #expect(causes == row.finds && found.count == row.finds.count)
    }
}
