import Ledger

/// A refund that was reversed: the purchase counted as refunded from one moment to another. The
/// present state of the purchase no longer shows the refund.
struct ReversedRefund: Hashable, Sendable {
    /// The id of the period: see `Timeline.Period.id`.
    let period: String
    let refund: Revocation
    /// When the first document says that the period was refunded.
    let toldAt: Instant
    /// When the first later document says that the period is not refunded. No document contains the
    /// actual time of the reversal.
    let reversedAt: Instant

    /// The maximum difference between two dates of the same refund, because only some kinds of
    /// documents have milliseconds.
    private static let sameRefundMax = Duration.seconds(1)

    /// Whether the purchase counted as refunded at a moment: from the date of the refund until its
    /// reversal.
    func contains(_ moment: Instant) -> Bool { refund.at <= moment && moment < reversedAt }

    /// The reversed refunds of a purchase, in order of their documents.
    ///
    /// - Parameter payments: all statements about its payments, in any order.
    static func all(of timeline: Timeline, _ payments: [AttestedPayment]) -> [Self] {
        guard payments.contains(where: { $0.refund != nil }) else { return [] }
        return timeline.periods.flatMap { period in
            guard period.payment.ownership == .purchased else { return [Self]() }
            let own = payments.filter {
                timeline.period(toldBy: $0.payment, $0.grade)?.id == period.id
            }
            return reversed(own.sorted { $0.at < $1.at }, period)
        }
    }

    private static func reversed(
        _ told: [AttestedPayment], _ period: Timeline.Period
    ) -> [Self] {
        var seen: [Instant] = []
        if let present = period.payment.revocation, present.kind == .refund {
            seen.append(present.at)
        }
        return told.compactMap { news in
            guard let refund = news.refund, !seen.contains(where: { isSame($0, refund.at) })
            else { return nil }
            seen.append(refund.at)
            let after = told.first {
                $0.isOfSameCopy(as: news) && $0.at > news.at
                    && !($0.refund.map { isSame($0.at, refund.at) } ?? false)
            }
            return after.map {
                Self(
                    period: period.id, refund: refund, toldAt: news.at, reversedAt: $0.at)
            }
        }
    }

    private static func isSame(_ one: Instant, _ other: Instant) -> Bool {
        max(one, other) - min(one, other) <= sameRefundMax
    }
}

/// One document's statement about a payment.
package struct AttestedPayment: Hashable, Sendable {
    package let fact: Fact
    package let payment: Payment

    /// Reads the statement about a payment from a fact. Returns nil if the fact is not about a
    /// payment.
    package init?(_ fact: Fact) {
        guard case .payment(let payment) = fact.statement else { return nil }
        self.fact = fact
        self.payment = payment
    }

    var at: Instant { fact.attestedAt }
    /// The App Store's identifier of the period, or the transaction if there is none.
    var subject: String { payment.line ?? payment.transaction.rawValue }
    var grade: Grade { fact.grade }
    /// Whether both statements are about one transaction. A document about another restored copy
    /// says nothing about a refund of this copy.
    func isOfSameCopy(as other: Self) -> Bool {
        payment.line != nil || payment.transaction == other.payment.transaction
    }

    /// The refund that the statement reports. Nil if there is none, and for the refund of an
    /// upgrade, which cannot be reversed.
    package var refund: Revocation? {
        guard let revocation = payment.revocation, revocation.kind == .refund,
            !payment.isUpgraded
        else { return nil }
        return revocation
    }
}
