import Ledger

/// Decides how much of a price the seller gets. This depends on the developer's membership of
/// Apple's Small Business Program, and on the sales taxes that prices contain. The App Store's
/// documents contain no information about either.
package struct MoneyRules: Hashable, Sendable {
    /// Times in which the seller was a member of the program. If a time has no end, the seller is
    /// still a member.
    package var smallBusiness: [Membership]
    /// Sales tax in thousandths of a percent of the price without tax, by storefront.
    package var taxes: [String: Int64]
    /// The time zone in which a day of a report begins.
    package var clock: WallClock
    /// The App Store's own time, by which it counts calendar days.
    package var storeClock = WallClock.utc
    /// How long a period of each product lasts, if the configuration declares it.
    package var lengths: [ProductID: PlanLength] = [:]

    package struct Membership: Hashable, Sendable {
        package var from: Instant
        package var until: Instant?

        package init(from: Instant, until: Instant? = nil) {
            self.from = from
            self.until = until
        }

        func contains(_ moment: Instant) -> Bool {
            from <= moment && until.map { moment < $0 } ?? true
        }
    }

    package init(
        smallBusiness: [Membership] = [], taxes: [String: Int64] = [:], clock: WallClock = .utc
    ) {
        self.smallBusiness = smallBusiness
        self.taxes = taxes
        self.clock = clock
    }

    /// The version of the code that derives rows. Increase it when rows are derived differently, so
    /// that existing rows are derived again.
    private static let derivation = 9

    /// A text that is equal for equal rules. Rows that were derived by rules with another
    /// fingerprint are derived again.
    package var fingerprint: String {
        let memberships = smallBusiness.map {
            "\($0.from.milliseconds)-\($0.until.map { "\($0.milliseconds)" } ?? "")"
        }
        let rates = taxes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return "\(Self.derivation) \(clock.name) \(memberships.joined(separator: ","))"
            + " \(rates.joined(separator: ",")) \(lengthTexts.joined(separator: ","))"
    }

    private var lengthTexts: [String] {
        lengths.sorted { $0.key < $1.key }.map { product, length in
            switch length {
            case .days(let days): "\(product)=\(days)d"
            case .months(let months): "\(product)=\(months)m"
            }
        }
    }

    /// The App Store's shares, in thousandths of a percent (Apple: "App Store Small Business
    /// Program", "Auto-renewable Subscriptions").
    package static let standardRate: Int64 = 30_000
    package static let reducedRate: Int64 = 15_000
    /// How long a customer must have paid for the reduced rate to apply.
    static let paidServiceForReducedRate = Duration.days(365)
    /// The longest gap that does not reset the paid service, in days of the App Store's calendar.
    private static let paidServiceGapDays = 60

    /// Whether the service was interrupted for so long that the paid service starts again from
    /// zero.
    func resetsPaidService(from end: Instant, until start: Instant) -> Bool {
        // The calendar matters only for gaps near the limit, because a calendar day differs from 24
        // hours by a few hours at most.
        let days = Self.paidServiceGapDays
        guard start > end + .days(days - 1) else { return false }
        guard start <= end + .days(days + 1) else { return true }
        return start > storeClock.moment(months: 0, days: Self.paidServiceGapDays, after: end)
    }

    /// The App Store's share of a charge at a moment, in thousandths of a percent.
    ///
    /// - Parameter paidService: how long the customer had paid for the subscription before.
    func commissionRate(at moment: Instant, paidService: Duration = .zero) -> Int64 {
        let isReduced =
            paidService >= Self.paidServiceForReducedRate
            || smallBusiness.contains { $0.contains(moment) }
        return isReduced ? Self.reducedRate : Self.standardRate
    }

    /// Divides a price: first the tax is subtracted, then the App Store's share of the rest. Both
    /// are rounded down, so the seller's part includes the remainder.
    func split(_ price: Int64, storefront: String?, commissionRate: Int64) -> PriceSplit {
        let taxRate = storefront.flatMap { taxes[$0] } ?? 0
        let whole = Percentage.whole
        let tax = Self.part(price, taxRate, of: whole + taxRate)
        return PriceSplit(
            tax: tax, commission: Self.part(price - tax, commissionRate, of: whole))
    }

    /// The price of a payment per month. Zero if the payment has no price or no end, or nothing was
    /// paid.
    ///
    /// - Parameter start: when the payment's period began, if it began before the payment. This
    ///   matters for seats that were added within a period: their price is for a whole period.
    func monthly(
        _ payment: Payment, since start: Instant? = nil, commissionRate: Int64
    ) -> Movement.Amounts {
        var amounts = Movement.Amounts()
        guard payment.isPaid, let price = payment.price?.milliunits, let until = payment.until
        else { return amounts }
        if let length = length(of: payment) {
            amounts.mrr = MonthlyPrice.monthly(price, every: length)
            amounts.mrrOfFourWeeks = MonthlyPrice.ofFourWeeks(price, every: length)
        } else {
            let from = start ?? payment.from
            amounts.mrr = MonthlyPrice.monthly(price, from: from, until: until)
            amounts.mrrOfFourWeeks = MonthlyPrice.ofFourWeeks(price, from: from, until: until)
        }
        let parts = split(
            amounts.mrr, storefront: payment.storefront, commissionRate: commissionRate)
        (amounts.mrrTax, amounts.mrrCommission) = (parts.tax, parts.commission)
        amounts.contracted = amounts.mrr
        amounts.promised = price * payment.monthsPromised
        return amounts
    }

    /// The declared length of the payment's period. Nil if the length must be taken from the period
    /// itself, as for an offer that is paid up front.
    private func length(of payment: Payment) -> PlanLength? {
        if payment.commitment != nil { return .months(1) }
        return payment.terms == .full ? lengths[payment.product] : nil
    }

    /// Divides the price of several units. If the price is a multiple of the number of units, the
    /// price of one unit is divided, as in the App Store's reports.
    func split(
        _ price: Int64, units: Int64, storefront: String?, commissionRate: Int64
    ) -> PriceSplit {
        let count = units > 1 && price % units == 0 ? units : 1
        let one = split(price / count, storefront: storefront, commissionRate: commissionRate)
        return PriceSplit(tax: one.tax * count, commission: one.commission * count)
    }

    /// Divides the price of seats: each seat separately.
    func split(
        _ tiers: [Seats.Tier], storefront: String?, commissionRate: Int64
    ) -> PriceSplit {
        tiers.reduce(PriceSplit(tax: 0, commission: 0)) { sum, tier in
            let one = split(tier.price, storefront: storefront, commissionRate: commissionRate)
            return PriceSplit(
                tax: sum.tax + one.tax * Int64(tier.count),
                commission: sum.commission + one.commission * Int64(tier.count))
        }
    }

    private static func part(_ amount: Int64, _ share: Int64, of whole: Int64) -> Int64 {
        guard amount > 0 else { return 0 }
        // Whole part and remainder are multiplied separately, so that no amount overflows.
        let (units, rest) = amount.quotientAndRemainder(dividingBy: whole)
        return units * share + rest * share / whole
    }
}

/// Parts of a price, in thousandths of the same unit.
struct PriceSplit: Hashable, Sendable {
    var tax: Int64
    var commission: Int64
}
