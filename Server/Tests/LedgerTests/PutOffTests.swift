import Ledger
import Testing

private let start = Chronicle.start
private let end = start + .days(30)

/// What is told where the store has put the end of a paid month off.
@Suite struct PutOffTests {
    private static let month = Fact(
        about: RandomLife.purchase, attestedAt: start,
        .payment(
            Payment(
                transaction: "1000", line: "l1", product: "pro.monthly", from: start, until: end)))

    private static func due(at date: Instant) -> Fact {
        Fact(
            about: RandomLife.purchase, attestedAt: start + .days(3),
            .renewal(Renewal(willRenew: true, renewsTo: "pro.monthly", renewsAt: date)))
    }

    @Test(arguments: [.milliseconds(300), .seconds(30), .seconds(59)] as [Duration])
    func `by less than a minute: it is doubted a minute after the later end, and no sooner`(
        delay: Duration
    ) {
        let later = end + delay
        var anna = Chronicle()
        anna.hear([Self.month, Self.due(at: later)], at: start + .days(3))
        let count = anna.changes.count
        anna.pass(until: later + .seconds(59))
        #expect(anna.changes.count == count)
        #expect(anna.timeline.nextTurn(after: anna.told.until) == later + .seconds(60))
        anna.pass(until: later + .seconds(60))
        #expect(anna.changes.dropFirst(count).map(\.kind) == [.accessUnconfirmed])
        #expect(anna.changes.last?.before?.until == end)
        anna.check("\(delay)")
    }
}
