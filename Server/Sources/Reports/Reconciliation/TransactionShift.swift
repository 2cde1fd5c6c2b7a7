import Ledger

/// What the App Store counts of a transaction at other moments than we do, as documents show it.
package struct TransactionShift: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The charge is dated by the beginning of its period, and was collected later: in a grace
        /// period. The moment is that of the first document about it.
        case collectedLater(at: Instant)
        /// A refund that was reversed. For the App Store it is a refund, and another sale if the
        /// whole price was charged again. The moment is that of the first document without it.
        case refundReversed(at: Instant)
    }

    package var kind: Kind
    /// For a reversed refund: with what was refunded then, which is nothing for a free period.
    package var line: TransactionLine

    /// Documents of different kinds date the same refund with and without milliseconds.
    private static let sameRefundMax = Duration.seconds(1)

    /// Whether facts leave a shift possible. Most purchases have none.
    package static func mayExist(in facts: [Fact]) -> Bool {
        let payments = facts.compactMap(AttestedPayment.init)
        if payments.contains(where: { $0.refund != nil }) { return true }
        return Dictionary(grouping: payments.filter(\.payment.isRenewal), by: \.id).values
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
        return zip(timeline.periods, books.transactions).flatMap { period, line -> [Self] in
            guard line.ownership == .purchased else { return [] }
            let own = payments.filter {
                timeline.period(toldBy: $0.payment, $0.grade)?.id == period.id
            }
            return collectedLater(line, own) + reversed(line, of: purchase, own, rules)
        }
    }

    private static func collectedLater(
        _ line: TransactionLine, _ told: [AttestedPayment]
    ) -> [Self] {
        guard line.isRenewal, let first = told.map(\.at).min(), first > line.from else { return [] }
        return [Self(kind: .collectedLater(at: first), line: line)]
    }

    private static func reversed(
        _ line: TransactionLine, of purchase: PurchaseID, _ told: [AttestedPayment],
        _ rules: MoneyRules
    ) -> [Self] {
        var seen = line.refundedAt.map { [$0] } ?? []
        return told.sorted { $0.at < $1.at }.compactMap { news in
            guard let refund = news.refund, !seen.contains(where: { isSame($0, refund.at) })
            else { return nil }
            seen.append(refund.at)
            let then = Timeline(of: purchase, [news.fact])
            guard let period = then.periods.first,
                let reversed = told.filter({ $0.at > news.at && $0.refund?.at != refund.at })
                    .map(\.at).min()
            else { return nil }
            var refunded = TransactionLine(
                of: period, commissionRate: line.commissionRate, rules)
            guard refunded.refunded > 0 || refunded.gross == 0 else { return nil }
            // What cost nothing has no refund of its own, but was revoked.
            refunded.refundedAt = refunded.refundedAt ?? max(refund.at, refunded.from)
            return Self(kind: .refundReversed(at: reversed), line: refunded)
        }
    }

    private static func isSame(_ one: Instant, _ other: Instant) -> Bool {
        max(one, other) - min(one, other) <= sameRefundMax
    }
}

/// What one document says of a payment.
private struct AttestedPayment {
    let fact: Fact
    let payment: Payment

    init?(_ fact: Fact) {
        guard case .payment(let payment) = fact.statement else { return nil }
        self.fact = fact
        self.payment = payment
    }

    var at: Instant { fact.attestedAt }
    var grade: Grade { fact.grade }
    var id: String { payment.line ?? payment.transaction.rawValue }

    var refund: Revocation? { payment.revocation.flatMap { $0.kind == .refund ? $0 : nil } }
}
