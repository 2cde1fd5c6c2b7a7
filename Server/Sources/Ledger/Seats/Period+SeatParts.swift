// Decides which payment a statement is about, if a period can have several payments. All seats of a
// period may have the same line item, and one payment may be reported under several transaction
// numbers.

extension Timeline.Period {
    /// The maximum difference between the dates of one payment in different documents. Some
    /// documents have no milliseconds, or round them.
    private static let samePaymentMax = Duration.seconds(60)
    /// The maximum time between the signatures of documents that describe the same state.
    private static let describedTogetherMax = Duration.seconds(60)

    /// Whether a statement is about this payment, according to the identifiers that the statement
    /// and this payment both have.
    ///
    /// - Parameter otherID: the id of the statement: see ``Payment/id(_:)``.
    func isTold(by other: Payment, _ otherID: String, _ grade: Grade) -> Bool {
        guard id == otherID else { return false }
        // Older documents do not say that seats were added. Such seats begin later than the payment
        // that has the same line item. A row whose end is not after its start is a restore that was
        // dated after the end.
        guard grade == .legacy || sources == .legacy, !payment.isBoughtOnce,
            payment.line != nil, payment.hasLength, other.hasLength
        else { return true }
        return begins(with: other)
    }

    /// Whether a statement is about this payment although its id may differ. If a period has
    /// several payments for seats, these are distinguished by their transactions. A statement that
    /// does not mention the other payments may have another transaction number, if its period
    /// begins together with this payment.
    func isSeated(as other: Payment) -> Bool {
        guard payment.isPart || other.isPart else { return false }
        if payment.transaction == other.transaction { return true }
        return payment.isPart != other.isPart && payment.hasLine(of: other) && begins(with: other)
    }

    private func begins(with other: Payment) -> Bool {
        max(from, other.from) - min(from, other.from) <= Self.samePaymentMax
    }

    /// Whether these seats were bought within the period of the other seats. Older documents do not
    /// say that seats were added, but a payment that begins later with the same line item can only
    /// be for added seats.
    func adds(to other: Self) -> Bool {
        let isPart = payment.isPart || payment.hasLine(of: other.payment)
        guard isPart, product == other.product, let until = other.payment.until else {
            return false
        }
        return from >= other.from && from < until && !endsApart(from: other)
    }

    /// Whether the two periods end separately. In this case the later period was bought again, for
    /// example after all seats were refunded. Ends that differ because of an extension do not
    /// count: for a while, an extension may be known for only one of the payments. An extension
    /// adds whole days, and periods that the App Store describes together are extended together.
    private func endsApart(from other: Self) -> Bool {
        guard let until = payment.until, let end = other.payment.until else { return false }
        let difference = max(until, end) - min(until, end)
        guard difference > Self.samePaymentMax else { return false }
        if until > end, other.attestedAt + Self.describedTogetherMax >= attestedAt { return true }
        // In the sandbox, extensions are shortened by the same factor as periods.
        return end - other.from >= Self.realTimeMin && !Self.canBeExtension(difference)
    }

    /// A period of at least this length is not from the sandbox. In production, the shortest
    /// periods last for three days.
    private static let realTimeMin = Duration.days(2)

    /// Whether a length can result from extensions: one or more whole days. A change of clocks may
    /// add or remove an hour.
    private static func canBeExtension(_ length: Duration) -> Bool {
        let (day, hour) = (Duration.days(1), Duration.hours(1))
        guard length >= day - hour - samePaymentMax else { return false }
        let rest = length.wholeMilliseconds % day.wholeMilliseconds
        let fromWhole = min(rest, day.wholeMilliseconds - rest)
        return [0, hour.wholeMilliseconds].contains {
            abs(fromWhole - $0) <= samePaymentMax.wholeMilliseconds
        }
    }
}

extension Payment {
    /// Whether the payment is one of several payments for its period.
    var isPart: Bool { seats?.isPart ?? false }

    fileprivate var hasLength: Bool { until.map { from < $0 } ?? true }

    /// Whether both payments have the same line item.
    func hasLine(of other: Payment) -> Bool { line != nil && line == other.line }
}
