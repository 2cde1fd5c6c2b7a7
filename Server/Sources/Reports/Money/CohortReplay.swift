import Ledger

extension Cohort {
    /// The cohorts whose numbers are sums of ``CohortChange`` values.
    package static let summed: [Cohort] = [
        .trials, .trialsPaidEver, .payments, .standardPayments, .revenue,
    ]

    /// A zero for each number of a cohort of ``summed``; empty for other cohorts.
    package var zeros: [Int64] {
        switch self {
        case .trials, .trialsPaidEver: [0, 0, 0]
        case .payments, .standardPayments: [Int64](repeating: 0, count: Self.paymentsMax)
        case .revenue: [0, 0]
        case .days, .transactions, .endings, .wallets: []
        }
    }
}

/// How one purchase changes the numbers of cohorts, day by day. The sum of all changes up to a
/// moment equals the contribution of the purchase to each number, according to its movements up to
/// that moment.
///
/// The movements are applied in the order of time, all movements of one moment together. After each
/// moment, the difference from the numbers before it is a change on the day of the moment.
package struct CohortReplay: Sendable {
    package private(set) var changes: [CohortChange] = []

    /// - Parameter movements: the known movements of one purchase, in any order.
    package init(_ movements: [CohortMovement]) {
        var trials = TrialReplay()
        var payments = PaymentReplay(.payments)
        var standard = PaymentReplay(.standardPayments)
        var revenue = RevenueReplay()
        let sorted = movements.sorted { $0.at < $1.at }
        var rest = sorted[...]
        while let first = rest.first {
            let moment = rest.prefix { $0.at == first.at }
            rest = rest.dropFirst(moment.count)
            let day = moment.map(\.day).min() ?? first.day
            changes += trials.changes(by: moment, on: day)
            changes += payments.changes(by: moment.filter { $0.isPaid }, on: day)
            changes += standard.changes(by: moment.filter { $0.isPaid && !$0.hasOffer }, on: day)
            changes += revenue.changes(by: moment, on: day)
        }
    }
}

extension CohortMovement {
    /// Whether a price was charged for a subscription.
    fileprivate var isPaid: Bool { kind.isSubscriptionPayment && payments > 0 }
}

/// The outcome of the first trial of a purchase.
private struct TrialReplay {
    private var began: (at: Instant, day: Int64)?
    private var isPaidWhenItEnded = false
    private var lastPaidAt: Instant?
    private var trials: Int64 = 0
    private var reported: [Cohort: [Int64]] = [:]

    mutating func changes(
        by movements: ArraySlice<CohortMovement>, on day: Int64
    ) -> [CohortChange] {
        let movements = movements.filter(\.kind.isOfTrials)
        guard !movements.isEmpty else { return [] }
        for movement in movements { apply(movement, on: day) }
        guard let began else { return [] }
        let isPaidEver = lastPaidAt.map { $0 >= began.at } ?? false
        return changes(.trials, isPaidWhenItEnded, began.day, on: day)
            + changes(.trialsPaidEver, isPaidEver, began.day, on: day)
    }

    private mutating func apply(_ movement: CohortMovement, on day: Int64) {
        if movement.kind == .trialStarted, began == nil { began = (movement.at, day) }
        if movement.kind == .converted && movement.active > 0
            || movement.kind == .reactivation && movement.trials < 0
        {
            isPaidWhenItEnded = true
        }
        if movement.active > 0 { lastPaidAt = movement.at }
        trials += movement.trials
    }

    private mutating func changes(
        _ cohort: Cohort, _ isPaid: Bool, _ beganDay: Int64, on day: Int64
    ) -> [CohortChange] {
        let numbers: [Int64] = [1, isPaid ? 1 : 0, trials > 0 ? 1 : 0]
        let before = reported.updateValue(numbers, forKey: cohort) ?? cohort.zeros
        return numbers.indices.filter { numbers[$0] != before[$0] }.map { place in
            CohortChange(
                CohortCell(cohort, place, beganOn: beganDay, on: day),
                numbers[place] - before[place])
        }
    }
}

/// The number of payments for a purchase.
private struct PaymentReplay {
    private let cohort: Cohort
    private var beganDay: Int64?
    private var made: Int64 = 0

    init(_ cohort: Cohort) { self.cohort = cohort }

    mutating func changes(by payments: [CohortMovement], on day: Int64) -> [CohortChange] {
        guard !payments.isEmpty else { return [] }
        let beganDay = beganDay ?? day
        self.beganDay = beganDay
        let before = made
        for payment in payments { made += payment.payments }
        let last = min(made, Int64(Cohort.paymentsMax))
        guard before < last else { return [] }
        return (before..<last).map {
            CohortChange(CohortCell(cohort, Int($0), beganOn: beganDay, on: day), 1)
        }
    }
}

/// The revenue of a purchase since its first payment, and the currency in which it is counted.
private struct RevenueReplay {
    private static let countPlace = 0
    private static let revenuePlace = 1

    private var beganDay: Int64?
    /// The currency of the first payment that has a currency; empty if no payment has a currency so
    /// far.
    private var currency: String?
    /// The movements before the first payment.
    private var earlier: [CohortMovement] = []

    mutating func changes(
        by movements: ArraySlice<CohortMovement>, on day: Int64
    ) -> [CohortChange] {
        let movements = movements.filter { $0.kind.isSubscriptionPayment || $0.kind.isGivingBack }
        let payments = movements.filter { $0.payments > 0 }
        guard let beganDay = beganDay ?? (payments.isEmpty ? nil : day) else {
            earlier += movements
            return []
        }
        self.beganDay = beganDay
        let revenues = (earlier + movements).filter { $0.revenue != 0 }.map {
            CohortChange(
                CohortCell(
                    .revenue, Self.revenuePlace, beganOn: beganDay, in: $0.currency ?? "", on: day),
                $0.revenue)
        }
        earlier = []
        return counted(payments, beganDay, on: day) + revenues
    }

    /// Counts the purchase in the currency of its first payment. If that payment has no price, the
    /// purchase is counted without a currency until a payment has a price.
    private mutating func counted(
        _ payments: [CohortMovement], _ beganDay: Int64, on day: Int64
    ) -> [CohortChange] {
        guard currency == nil || currency == "" else { return [] }
        let first = payments.compactMap(\.currency).min() ?? ""
        guard first != currency else { return [] }
        defer { currency = first }
        return [(currency, -1), (first, 1)].compactMap { currency, number in
            currency.map {
                CohortChange(
                    CohortCell(.revenue, Self.countPlace, beganOn: beganDay, in: $0, on: day),
                    number)
            }
        }
    }
}
