import Ledger

/// The sum of all movements of one kind, on one day, in one currency and one part of a division.
/// Reports are computed from these sums alone.
package struct MovementSum: Hashable, Sendable {
    /// The day of the movements, counted from 1970-01-01, in the configured time zone.
    package var day: Int64
    package var kind: Movement.Kind
    /// Whether the movements describe the effect that refunds had until they were reversed: see
    /// ``Movement/isMeanwhile``.
    package var isMeanwhile = false
    /// The currency of the amounts. Nil if no document contains a price.
    package var currency: String?
    /// The value of the property that divides the report. Nil if the report is not divided.
    package var part: String?
    package var totals: Totals

    package init(
        day: Int64, kind: Movement.Kind, isMeanwhile: Bool = false, currency: String?,
        part: String? = nil, totals: Totals
    ) {
        self.day = day
        self.kind = kind
        self.isMeanwhile = isMeanwhile
        self.currency = currency
        self.part = part
        self.totals = totals
    }
}

/// Amounts of one currency, and counts.
package struct Totals: Hashable, Sendable {
    package var amounts: Movement.Amounts
    package var counts: Movement.Counts

    package init(
        _ amounts: Movement.Amounts = Movement.Amounts(),
        _ counts: Movement.Counts = Movement.Counts()
    ) {
        self.amounts = amounts
        self.counts = counts
    }

    package static func + (one: Self, other: Self) -> Self {
        Self(one.amounts + other.amounts, one.counts + other.counts)
    }

    package static func += (one: inout Self, other: Self) { one = one + other }

    /// The negative of all values, which cancels them.
    package static prefix func - (totals: Self) -> Self {
        Self(numbers: totals.numbers.map { -$0 })
    }

    /// Every amount and count, in the order in which they are stored.
    package var numbers: [Int64] {
        [
            amounts.gross, amounts.refunded, amounts.tax, amounts.commission, amounts.mrr,
            counts.payments, counts.active, counts.trials, counts.grace, counts.retry,
            counts.notRenewing, amounts.mrrTax, amounts.mrrCommission, amounts.mrrOfFourWeeks,
            amounts.contracted, amounts.promised, counts.seats,
        ]
    }

    /// - Parameter numbers: as in ``numbers``.
    package init(numbers: [Int64]) {
        self.init(
            Movement.Amounts(
                gross: numbers[0], refunded: numbers[1], tax: numbers[2], commission: numbers[3],
                mrr: numbers[4]),
            Movement.Counts(
                payments: numbers[5], active: numbers[6], trials: numbers[7], grace: numbers[8],
                retry: numbers[9], notRenewing: numbers[10], seats: numbers[16]))
        (amounts.mrrTax, amounts.mrrCommission) = (numbers[11], numbers[12])
        amounts.mrrOfFourWeeks = numbers[13]
        (amounts.contracted, amounts.promised) = (numbers[14], numbers[15])
    }
}

/// The property that divides a report.
package enum Division: String, Hashable, Sendable, CaseIterable {
    case product
    case group
    case country
    case offer
    case price

    /// The part that a segment belongs to. Nil if its documents do not contain the property.
    package func part(of segment: Segment) -> String? {
        switch self {
        case .product: segment.product.rawValue
        case .group: segment.group
        case .country: segment.storefront
        case .offer:
            segment.offer.map { offer in
                offer.kind.word + (offer.id.map { ":" + $0 } ?? "")
            } ?? "none"
        case .price: segment.price.map { "\($0.milliunits) \($0.currency)" }
        }
    }
}
