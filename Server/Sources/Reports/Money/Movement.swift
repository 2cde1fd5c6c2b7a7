import Ledger

/// A change that one purchase made at one moment. Every number of a report is a sum over movements:
/// the active subscriptions at a moment are the sum of all ``Movement/Counts/active`` up to that
/// moment.
///
/// An end that will occur if nothing else happens is a movement in the future. When the purchase
/// renews, another movement replaces it.
package struct Movement: Hashable, Sendable {
    package var kind: Kind
    package var at: Instant
    /// The App Store's number of the transaction whose period or purchase the movement belongs to.
    package var transaction: TransactionID
    package var segment: Segment
    package var amounts: Amounts
    package var counts: Counts
    /// Whether the movement is part of the effect that a refund had until the refund was reversed:
    /// see ``PurchaseBooks``. The movements without this mark describe the present knowledge.
    package var isMeanwhile = false

    package var category: Category { Category(kind, isMeanwhile: isMeanwhile) }

    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case consumable
        case nonConsumable = "non_consumable"
        /// A stretch of time that does not renew by itself.
        case nonRenewing = "non_renewing"
        /// A product without renewal, of a kind that we do not know yet.
        case oneTime = "one_time"
        case trialStarted = "trial_started"
        /// A trial ended and nothing was paid.
        case trialEnded = "trial_ended"
        /// The first paid period after a trial.
        case converted
        /// The first paid period of a subscription that had no trial before it.
        case new
        case renewal
        /// The monthly price of a subscription increased.
        case expansion
        /// The monthly price of a subscription decreased.
        case contraction
        /// A paid period after a gap.
        case reactivation
        /// A paid period ended, including its grace period, and nothing was paid.
        case churn
        case refund
        /// The part of the price that an upgrade refunded. No customer asked for it.
        case credit
        case graceStarted = "grace_started"
        case graceEnded = "grace_ended"
        case retryStarted = "retry_started"
        /// The App Store gave up collecting a payment.
        case retryEnded = "retry_ended"
        /// The payment was collected, or the customer bought again in the meantime.
        case retryRecovered = "retry_recovered"
        /// The customer switched renewal off.
        case renewalOff = "renewal_off"
        /// The customer switched renewal on again, or the period ended.
        case renewalOn = "renewal_on"
    }

    /// The property that distinguishes movements when they are stored and added up.
    package struct Category: Hashable, Sendable, RawRepresentable, CaseIterable {
        package var kind: Kind
        package var isMeanwhile: Bool

        /// The prefix of the words for movements with ``isMeanwhile``. No other word has this
        /// prefix.
        package static let prefix = "meanwhile_"

        package init(_ kind: Kind, isMeanwhile: Bool = false) {
            self.kind = kind
            self.isMeanwhile = isMeanwhile
        }

        /// The kind's word, or `meanwhile_` and the kind's word.
        package var rawValue: String { (isMeanwhile ? Self.prefix : "") + kind.rawValue }

        package init?(rawValue: String) {
            isMeanwhile = rawValue.hasPrefix(Self.prefix)
            let word = isMeanwhile ? rawValue.dropFirst(Self.prefix.count) : rawValue[...]
            guard let kind = Kind(rawValue: String(word)) else { return nil }
            self.kind = kind
        }

        package static var allCases: [Self] {
            [false, true].flatMap { isMeanwhile in
                Kind.allCases.map { Self($0, isMeanwhile: isMeanwhile) }
            }
        }
    }

    /// Money, in thousandths of the unit of the segment's currency.
    package struct Amounts: Hashable, Sendable {
        /// The amount that customers were charged.
        package var gross: Int64 = 0
        /// The amount that customers got back.
        package var refunded: Int64 = 0
        /// The sales tax in ``gross``, minus its refunded part.
        package var tax: Int64 = 0
        /// The App Store's share, minus its refunded part.
        package var commission: Int64 = 0
        /// The change of the monthly revenue: see ``MonthlyPrice``.
        package var mrr: Int64 = 0
        /// Sales tax in ``mrr``.
        package var mrrTax: Int64 = 0
        /// The App Store's share in ``mrr``.
        package var mrrCommission: Int64 = 0
        /// The change of ``mrr`` if a month had four weeks, as RevenueCat computes it.
        package var mrrOfFourWeeks: Int64 = 0
        /// The change of the monthly amount that customers have agreed to pay: ``mrr``, plus the
        /// months of a commitment that could not be collected yet.
        package var contracted: Int64 = 0
        /// The change of the amount that customers still owe of their commitments.
        package var promised: Int64 = 0

        package init(
            gross: Int64 = 0, refunded: Int64 = 0, tax: Int64 = 0, commission: Int64 = 0,
            mrr: Int64 = 0
        ) {
            self.gross = gross
            self.refunded = refunded
            self.tax = tax
            self.commission = commission
            self.mrr = mrr
        }

        /// The seller's part: ``gross`` without refunds, tax and commission.
        package var proceeds: Int64 { gross - refunded - tax - commission }

        /// The amounts that result if one operation is applied to each amount.
        package func mapped(_ change: (Int64) -> Int64) -> Self {
            merged(with: self) { one, _ in change(one) }
        }

        fileprivate func merged(with other: Self, _ merge: (Int64, Int64) -> Int64) -> Self {
            var result = Self(
                gross: merge(gross, other.gross), refunded: merge(refunded, other.refunded),
                tax: merge(tax, other.tax), commission: merge(commission, other.commission),
                mrr: merge(mrr, other.mrr))
            result.mrrTax = merge(mrrTax, other.mrrTax)
            result.mrrCommission = merge(mrrCommission, other.mrrCommission)
            result.mrrOfFourWeeks = merge(mrrOfFourWeeks, other.mrrOfFourWeeks)
            result.contracted = merge(contracted, other.contracted)
            result.promised = merge(promised, other.promised)
            return result
        }
    }

    /// Changes of the numbers of subscriptions.
    package struct Counts: Hashable, Sendable {
        /// Prices that were charged.
        package var payments: Int64 = 0
        /// Paid subscriptions that are not over, including those in grace.
        package var active: Int64 = 0
        /// Subscriptions in a free period.
        package var trials: Int64 = 0
        /// The number of active subscriptions in grace.
        package var grace: Int64 = 0
        /// Subscriptions that are not active but that the App Store still tries to collect.
        package var retry: Int64 = 0
        /// The number of active subscriptions whose renewal is off.
        package var notRenewing: Int64 = 0
        /// The number of people for whom the active subscriptions are paid: one for each
        /// subscription, or the seats of a group.
        package var seats: Int64 = 0

        package init(
            payments: Int64 = 0, active: Int64 = 0, trials: Int64 = 0, grace: Int64 = 0,
            retry: Int64 = 0, notRenewing: Int64 = 0, seats: Int64 = 0
        ) {
            self.payments = payments
            self.active = active
            self.trials = trials
            self.grace = grace
            self.retry = retry
            self.notRenewing = notRenewing
            self.seats = seats
        }
    }

    package init(
        _ kind: Kind, at: Instant, of transaction: TransactionID, _ segment: Segment,
        _ amounts: Amounts = Amounts(), _ counts: Counts = Counts()
    ) {
        self.kind = kind
        self.at = at
        self.transaction = transaction
        self.segment = segment
        self.amounts = amounts
        self.counts = counts
    }
}

extension Movement.Amounts {
    package static func + (one: Self, other: Self) -> Self { one.merged(with: other, +) }
    package static func - (one: Self, other: Self) -> Self { one.merged(with: other, -) }
    package static prefix func - (one: Self) -> Self { one.mapped { -$0 } }
}

extension Movement.Counts {
    package static func + (one: Self, other: Self) -> Self {
        Self(
            payments: one.payments + other.payments, active: one.active + other.active,
            trials: one.trials + other.trials, grace: one.grace + other.grace,
            retry: one.retry + other.retry, notRenewing: one.notRenewing + other.notRenewing,
            seats: one.seats + other.seats)
    }
}

extension Movement.Amounts {
    /// The amounts that stay in force until another movement changes them. Charges and refunds,
    /// which belong to one moment, are set to zero.
    var ofStock: Self {
        var stock = self
        (stock.gross, stock.refunded, stock.tax, stock.commission) = (0, 0, 0, 0)
        return stock
    }
}
