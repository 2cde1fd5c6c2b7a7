import Ledger

extension PurchaseBooks {
    /// The transactions of a timeline, as in ``transactions``, without deriving its movements.
    ///
    /// - Parameter rates: the commission rates that are known already, by period.
    package static func transactions(
        of timeline: Timeline, _ rates: [String: Int64] = [:], rules: MoneyRules
    ) -> [TransactionLine] {
        var lines: [TransactionLine] = []
        var paid: [Timeline.Period] = []
        var service = Duration.zero
        for period in timeline.periods {
            // For added seats, the paid service before them equals the paid service before the
            // period to which they were added.
            if !period.isAddition { service = PaidTime(before: period, paid, rules).length }
            let rate =
                rates[period.id] ?? rules.commissionRate(at: period.from, paidService: service)
            lines.append(TransactionLine(of: period, commissionRate: rate, rules))
            if period.isCountedSubscription, period.payment.isPaid, !period.isAddition {
                paid.append(period)
            }
        }
        return lines
    }
}

/// The length of a customer's paid service at the start of a period, counted since the last long
/// gap (Apple: "Days of paid service"). Counted in whole days: a day on which clocks change counts
/// as one day. A later refund does not change this time.
private struct PaidTime {
    private(set) var length = Duration.zero

    /// - Parameter paid: the paid periods before this one, in order.
    init(before period: Timeline.Period, _ paid: [Timeline.Period], _ rules: MoneyRules) {
        var last: Instant?
        for earlier in paid + [period] {
            if let last, rules.resetsPaidService(from: last, until: earlier.from) {
                length = .zero
            }
            guard earlier.id != period.id, let end = earlier.knownEnd(at: period.from) else {
                continue
            }
            length += (end - earlier.from).inWholeDays
            last = last.map { max($0, end) } ?? end
        }
    }
}

extension Timeline.Period {
    /// The end of the period as known at a moment: a refund ends the period only from the moment of
    /// the refund on.
    fileprivate func knownEnd(at moment: Instant) -> Instant? {
        guard let end else { return nil }
        guard let revocation = payment.revocation, revocation.at <= moment else { return end }
        return max(from, min(end, revocation.at))
    }
}

extension Duration {
    /// The duration rounded to the nearest day.
    fileprivate var inWholeDays: Self {
        let day: Int64 = 86_400_000
        return .days(Int((wholeMilliseconds + day / 2) / day))
    }
}
