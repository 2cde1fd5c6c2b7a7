import Ledger
import Testing

private let start = Chronicle.start
private let end = start + .days(30)

/// The changes that are reported when a later document is the first to name the line item of a
/// period.
@Suite struct NamedLaterTests {
    private static func fact(_ statement: Fact.Statement, at: Instant, _ grade: Grade) -> Fact {
        Fact(about: RandomLife.purchase, attestedAt: at, grade: grade, statement)
    }

    private static func month(
        _ transaction: TransactionID, line: String?, from: Instant, isRenewal: Bool = false
    ) -> Fact.Statement {
        .payment(
            Payment(
                transaction: transaction, line: line, product: "pro.monthly", from: from,
                until: from + .days(30), isRenewal: isRenewal))
    }

    @Test func `a recovery is recognised even if it also names the previous period's line item`() {
        var cleo = Chronicle()
        // This fact is from a receipt, which does not name the line item.
        cleo.hear(
            [Self.fact(Self.month("1000", line: nil, from: start), at: start, .legacy)], at: start)
        let trying = Renewal(
            willRenew: true, renewsTo: "pro.monthly", isRetrying: true, graceUntil: end + .days(16))
        cleo.hear([Self.fact(.renewal(trying), at: end, .signed)], at: end)
        #expect(cleo.changes.last?.after?.state == .grace)
        let count = cleo.changes.count
        let paid = end + .days(3)
        cleo.hear(
            [
                Self.fact(Self.month("1000", line: "l1", from: start), at: paid, .signed),
                Self.fact(
                    Self.month("1001", line: "l2", from: end, isRenewal: true), at: paid, .signed),
            ], at: paid)
        let told = cleo.changes.dropFirst(count).filter { $0.transaction == "1001" }
        #expect(told.map(\.kind) == [.billingRecovered])
        cleo.check("line")
    }
}
