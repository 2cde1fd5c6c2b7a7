import PerennialContract

/// The next event that happens automatically, according to the simulated App Store's records.
package struct PhoneDue: Hashable, Sendable {
    /// Days after the end of a paid period during which Apple tries to collect a payment.
    package static let retryDays: Int64 = 60

    package var at: Timestamp
    /// The event, as the end of a sentence.
    package var what: String

    /// Returns nil if nothing is due.
    package init?(_ state: PhoneState) {
        var all = state.books.flatMap { Self.all(of: $0) }
        if let refund = state.refund {
            all.append(PhoneDue(at: refund.decidedAt, what: "Apple decides about the refund"))
        }
        let next = all.filter { $0.at > state.now }.min { $0.at < $1.at }
        guard let next else { return nil }
        self = next
    }

    private init(at: Timestamp, what: String) {
        self.at = at
        self.what = what
    }

    private static func all(of purchase: BookedPurchase) -> [PhoneDue] {
        guard !purchase.isShared, !purchase.isOver else { return [] }
        switch purchase.state {
        case "grace":
            return purchase.graceUntil.map { [PhoneDue(at: $0, what: "grace is over")] } ?? []
        case "retry":
            return purchase.retryUntil.map { [PhoneDue(at: $0, what: "Apple stops trying")] } ?? []
        case "trial":
            return purchase.until.map {
                let what = purchase.willRenew ? "the trial becomes a payment" : "the trial ends"
                return [PhoneDue(at: $0, what: what)]
            } ?? []
        default:
            return purchase.until.map {
                let next = purchase.renewsTo ?? purchase.productID
                return [PhoneDue(at: $0, what: purchase.willRenew ? "\(next) renews" : "it ends")]
            } ?? []
        }
    }
}

extension BookedPurchase {
    /// When Apple stops trying to collect the payment.
    var retryUntil: Timestamp? {
        paidUntil.map { Timestamp(milliseconds: $0.milliseconds + PhoneDue.retryDays * 86_400_000) }
    }
}
