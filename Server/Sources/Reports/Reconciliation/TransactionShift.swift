import Ledger

/// A transaction that the App Store counts at other moments than we do, according to documents.
package struct TransactionShift: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The charge has the date at which its period begins, but was collected later, in a grace
        /// period. The moment is the time at which the first document attests the charge.
        case collectedLater(at: Instant)
        /// The refund was reversed. The App Store counts a refund, and also another sale if the
        /// whole price was charged again. The moment is the time at which the first document
        /// attests the payment without the refund.
        case refundReversed(at: Instant)
    }

    package var kind: Kind
    /// For a reversed refund: the line with the refunded amount, which is zero for a free period.
    package var line: TransactionLine

    /// Whether the facts make a shift possible. Most purchases have none.
    package static func mayExist(in facts: [Fact]) -> Bool {
        let payments = facts.compactMap(AttestedPayment.init)
        if payments.contains(where: { $0.refund != nil }) { return true }
        return Dictionary(grouping: payments.filter(\.payment.isRenewal), by: \.subject).values
            .contains { told in told.allSatisfy { $0.at > $0.payment.from } }
    }

    /// The shifts of one purchase, in order of its transactions.
    ///
    /// - Parameter facts: all facts about the purchase.
    package static func shifts(
        of purchase: PurchaseID, _ facts: [Fact], rules: MoneyRules
    ) -> [Self] {
        let payments = facts.compactMap(AttestedPayment.init)
        let timeline = Timeline(of: purchase, facts)
        let books = PurchaseBooks(of: timeline, [], rules: rules)
        let reversals = ReversedRefund.all(of: timeline, payments)
        return zip(timeline.periods, books.transactions).flatMap { period, line -> [Self] in
            guard line.ownership == .purchased else { return [] }
            let own = payments.filter {
                timeline.period(toldBy: $0.payment, $0.grade)?.id == period.id
            }
            return collectedLater(line, own) + reversed(line, period, reversals, rules)
        }
    }

    private static func collectedLater(
        _ line: TransactionLine, _ told: [AttestedPayment]
    ) -> [Self] {
        guard line.isRenewal, let first = told.map(\.at).min(), first > line.from else { return [] }
        return [Self(kind: .collectedLater(at: first), line: line)]
    }

    private static func reversed(
        _ line: TransactionLine, _ period: Timeline.Period, _ reversals: [ReversedRefund],
        _ rules: MoneyRules
    ) -> [Self] {
        reversals.filter { $0.period == period.id }.compactMap { reversal in
            var then = period
            then.payment.revocation = reversal.refund
            var refunded = TransactionLine(of: then, commissionRate: line.commissionRate, rules)
            guard refunded.refunded > 0 || refunded.gross == 0 else { return nil }
            // A free period has no refund, but was revoked.
            refunded.refundedAt =
                refunded.refundedAt ?? max(reversal.refund.at, refunded.from)
            return Self(kind: .refundReversed(at: reversal.reversedAt), line: refunded)
        }
    }
}
