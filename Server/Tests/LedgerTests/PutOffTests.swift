import Dice
import Ledger
import Testing

private let start = Chronicle.start
private let end = start + .days(30)

/// The changes that are reported when the store postpones the end of a paid month.
@Suite struct PutOffTests {
    private static let month = payment("1000", line: "l1", from: start)

    private static func payment(
        _ transaction: TransactionID, line: String, from: Instant, isRenewal: Bool = false
    ) -> Fact {
        Fact(
            about: RandomLife.purchase, attestedAt: from,
            .payment(
                Payment(
                    transaction: transaction, line: line, product: "pro.monthly", from: from,
                    until: from + .days(30), isRenewal: isRenewal)))
    }

    private static func due(at date: Instant) -> Fact {
        Fact(
            about: RandomLife.purchase, attestedAt: start + .days(3),
            .renewal(Renewal(willRenew: true, renewsTo: "pro.monthly", renewsAt: date)))
    }

    /// Anna has paid for a month. On its third day the store has postponed its end.
    private static func anna(until date: Instant) -> Chronicle {
        var anna = Chronicle()
        anna.hear([month, due(at: date)], at: start + .days(3))
        return anna
    }

    @Test
    func `if the end of a period was postponed by days, a charge at the new end is a renewal`() {
        let later = end + .days(7)
        var anna = Self.anna(until: later)
        let renewed = Self.payment("1001", line: "l2", from: later, isRenewal: true)
        anna.hear([renewed], at: later)
        #expect(anna.changes.last?.kind == .renewed)
        anna.check("put off")
    }

    @Test func `access is unconfirmed at the old and at the postponed end, then it expires`() {
        let later = end + .days(7)
        var anna = Self.anna(until: later)
        let count = anna.changes.count
        anna.pass(until: later + .seconds(59))
        #expect(anna.changes.dropFirst(count).map(\.kind) == [.accessUnconfirmed])
        #expect(anna.changes.last?.after?.until == later)
        #expect(anna.timeline.nextTransition(after: anna.told) == later + .seconds(60))
        anna.pass(until: later + .hours(24))
        #expect(
            anna.changes.dropFirst(count).map(\.kind)
                == [.accessUnconfirmed, .accessUnconfirmed, .expired])
        #expect(anna.changes.last?.at == later + .hours(24))
        anna.check("waited for")
    }

    @Test(arguments: [.milliseconds(300), .seconds(30), .seconds(59)] as [Duration])
    func `after a postponement by less than a minute, access is unconfirmed only at the later end`(
        delay: Duration
    ) {
        let later = end + delay
        var anna = Self.anna(until: later)
        let count = anna.changes.count
        anna.pass(until: later + .seconds(59))
        #expect(anna.changes.count == count)
        #expect(anna.timeline.nextTransition(after: anna.told) == later + .seconds(60))
        anna.pass(until: later + .seconds(60))
        #expect(anna.changes.dropFirst(count).map(\.kind) == [.accessUnconfirmed])
        #expect(anna.changes.last?.before?.until == end)
        anna.check("\(delay)")
    }

    /// All other dates in a random life are whole days after the beginning of the life.
    @Test func `2 to 10 percent of the random renewals postpone the end of a period`() {
        var count = 0
        var delays: [Duration] = []
        for seed in UInt64(1)...200 {
            var dice = Dice(seed: seed)
            for fact in RandomLife.facts(&dice) {
                guard case .renewal(let renewal) = fact.statement else { continue }
                count += 1
                if let date = renewal.renewsAt { delays.append(date - start) }
            }
        }
        #expect((2...10).contains(100 * delays.count / count), "\(delays.count) of \(count)")
        let day = Duration.days(1).wholeMilliseconds
        #expect(Set(delays.map { $0.wholeMilliseconds % day == 0 }) == [true, false])
    }
}
