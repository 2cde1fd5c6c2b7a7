/// The seats of one payment for a subscription (Apple: a multiseat purchase).
package struct Seats: Hashable, Sendable {
    /// What the seats cost, sorted by price and number. Empty if the App Store does not report the
    /// prices, or if its numbers do not add up.
    package var tiers: [Tier]
    /// How many of the seats were refunded.
    package var refunded: Int
    /// Whether seats were added within the period, so that it has several payments. True for each
    /// of these payments, including the first one.
    package var isPart: Bool
    package var invitations: Invitations?

    /// A number of seats at one price.
    package struct Tier: Hashable, Sendable {
        /// The price of one seat, in thousandths of the currency's unit.
        package var price: Int64
        package var count: Int

        package init(price: Int64, count: Int) {
            self.price = price
            self.count = count
        }
    }

    /// Who invites the members of the group.
    package enum Invitations: String, Hashable, Sendable, CaseIterable {
        case apple
        case developer
        case other
    }

    package init(
        tiers: [Tier] = [], refunded: Int = 0, isPart: Bool = false,
        invitations: Invitations? = nil
    ) {
        self.tiers = tiers.sorted { ($0.price, $0.count) < ($1.price, $1.count) }
        self.refunded = refunded
        self.isPart = isPart
        self.invitations = invitations
    }

    /// The fields as one text, which decides between statements of the same moment.
    var canonicalText: String {
        let tiers = tiers.map { "\($0.price)*\($0.count)" }.joined(separator: "+")
        return "\(refunded) \(isPart ? 1 : 0) \(invitations?.rawValue ?? "") \(tiers)"
    }
}

extension Payment {
    /// The number of seats that the payment still pays for: 1 if the subscription was not bought in
    /// seats, 0 if the payment is revoked.
    package var seatsLeft: Int { revocation == nil ? seatsBought : 0 }

    /// The number of seats that were not refunded individually, whether or not the payment is
    /// revoked.
    var seatsBought: Int { max(0, quantity - (seats?.refunded ?? 0)) }
}

extension Timeline {
    /// The number of people for whom the subscription is paid at a moment, including the purchaser.
    package func seats(at moment: Instant) -> Int { seats(at: moment, \.seatsLeft) }

    /// The number of people that the next period is for, including the purchaser. Nil if no period
    /// follows, or if the App Store has not reported the number.
    package func seatsAtRenewal(at now: Instant) -> Int? {
        guard let period = period(at: now) else { return nil }
        if let next = paidRenewal(of: period, at: now) { return seats(at: next.from) }
        guard let news = renewalInfo(about: period), news.value.willRenew,
            knowsAdditions(news, to: period)
        else { return nil }
        return news.value.seats
    }

    /// The renewal that was charged before its period begins. Only such a payment can begin at the
    /// end of a running period, so `isRenewal` need not be checked.
    private func paidRenewal(of period: Period, at now: Instant) -> Period? {
        guard let end = period.openUntil, end > now else { return nil }
        return periods.first {
            $0.from == end && !$0.isVoid && !$0.isAddition && $0.payment.revocation == nil
        }
    }

    /// Whether a statement about the renewal is later than the last addition of seats to a period.
    package func knowsAdditions(_ news: Attested<Renewal>, to period: Period) -> Bool {
        !periods.contains {
            $0.isAddition && $0.payment.until == period.payment.until && $0.from > news.at
        }
    }

    /// How many seats of the period in force were refunded, including the seats of payments that
    /// were refunded as a whole.
    package func refundedSeats(at now: Instant) -> Int {
        guard let period = period(at: now) else { return 0 }
        return periods.reduce(0) { sum, other in
            let payment = other.payment
            guard payment.until == period.payment.until, payment.ownership == .purchased,
                !other.isVoid
            else { return sum }
            let isWhole = payment.revocation?.kind == .refund && !payment.isReplacedByUpgrade
            return sum.addingSaturating(isWhole ? payment.quantity : payment.seats?.refunded ?? 0)
        }
    }

    /// - Parameter number: returns the number of seats to count for one payment.
    func seats(at moment: Instant, _ number: (Payment) -> Int) -> Int {
        periods.reduce(0) { sum, period in
            sum.addingSaturating(period.paysForSeats(at: moment) ? number(period.payment) : 0)
        }
    }
}

extension Timeline.Period {
    /// Whether the seats of the period's payment count at a moment.
    func paysForSeats(at moment: Instant) -> Bool {
        payment.kind == .autoRenewable && !isVoid && covers(moment)
            && payment.ownership == .purchased
    }
}

extension Int {
    fileprivate func addingSaturating(_ other: Int) -> Int {
        let (sum, isTooMuch) = addingReportingOverflow(other)
        return isTooMuch ? .max : sum
    }
}
