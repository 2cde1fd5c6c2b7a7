import Ledger
import Testing

/// Which ids an app may join into one customer.
@Suite struct AliasClaimTests {
    private typealias Side = AliasClaim.Side

    private static func refusal(
        _ first: Side, _ second: Side, isProven: Bool = false, mayJoinPeople: Bool = false
    ) -> AliasClaim.Refusal? {
        AliasClaim(first, second, isProven: isProven, mayJoinPeople: mayJoinPeople).refusal
    }

    @Test func `without proof or permission to merge people, an app may add only anonymous ids`() {
        let rows: [(Side, Side, AliasClaim.Refusal?, joining: AliasClaim.Refusal?)] = [
            (.anonymous, .anonymous, nil, nil),
            (.anonymous, .person, nil, nil),
            (.anonymous, .unknown, nil, nil),
            (.anonymous, .accountToken, .notProven, .notProven),
            (.person, .person, .twoPeople, nil),
            (.person, .unknown, .notProven, nil),
            (.person, .accountToken, .notProven, .notProven),
            (.unknown, .unknown, .notProven, nil),
            (.unknown, .accountToken, .notProven, .notProven),
            (.accountToken, .accountToken, .notProven, .notProven),
        ]
        #expect(rows.count == Side.allCases.count * (Side.allCases.count + 1) / 2)
        for (one, other, plain, joining) in rows {
            for (first, second) in [(one, other), (other, one)] {
                #expect(Self.refusal(first, second) == plain, "\(first), \(second)")
                #expect(
                    Self.refusal(first, second, mayJoinPeople: true) == joining,
                    "\(first), \(second)")
                #expect(Self.refusal(first, second, isProven: true) == nil)
            }
        }
    }
}
