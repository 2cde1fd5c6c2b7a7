import AppStoreFormats

/// A purchase as Apple's reports see it: its history, and the rate at which each charge is divided.
struct ReportedPurchase: Sendable {
    let history: PurchaseHistory
    private let calendar: StoreCalendar

    /// Days of paid service after which the reduced rate applies (Apple: "Auto-renewable
    /// Subscriptions").
    static let serviceDays: Int64 = 365
    /// The longest gap, in calendar days, that keeps the days of paid service. A longer gap resets
    /// these days.
    static let gapDays = 60

    init(_ history: PurchaseHistory, _ calendar: StoreCalendar) {
        self.history = history
        self.calendar = calendar
    }

    var charges: [PurchaseHistory.Charge] { history.charges }

    /// Whether the subscriber had paid for a year before a charge. For added seats, this is about
    /// the time before the first charge of their period.
    func isReduced(_ place: Int) -> Bool {
        let transaction = charges[place].transaction
        let first = charges[..<place].lastIndex {
            !transaction.beginsPeriod && $0.transaction.beginsPeriod
                && $0.transaction.isPart(ofPeriodOf: transaction)
        }
        return history.paidDays(before: first ?? place, calendar) >= Self.serviceDays
    }

    /// The sales and refunds within a span of time.
    func sales(in span: Range<AppStoreDate>) -> [ReportedSale] {
        charges.indices.flatMap { place in
            let charge = charges[place]
            var sales: [ReportedSale] = []
            func add(_ kind: ReportedSale.Kind, at moment: AppStoreDate) {
                guard span.contains(moment) else { return }
                // There is one row for each tier. This is a guess, because Apple's reports of seats
                // are unknown.
                var tiers: [SeatTier?] = [nil]
                if !kind.isPartial, let seats = charge.transaction.seats { tiers = seats.tiers }
                for tier in tiers {
                    sales.append(
                        ReportedSale(
                            purchase: self, place: place, kind: kind, tier: tier, at: moment))
                }
            }
            add(.sale, at: charge.at)
            for refund in charge.refunds where refund.amount > 0 {
                let isWhole = refund.amount == charge.transaction.price
                add(isWhole ? .refund : .partialRefund(refund.amount), at: refund.at)
                // A report has no form for a reversed partial refund.
                if isWhole, let reversed = refund.reversed { add(.sale, at: reversed) }
            }
            return sales
        }
    }
}

extension PurchaseHistory {
    /// The days of paid service before a charge, as known at its time. Free periods do not count. A
    /// gap of more than sixty days resets the days. A refunded period counts until its refund.
    fileprivate func paidDays(before place: Int, _ calendar: StoreCalendar) -> Int64 {
        let known = charges[place].at
        var days: Int64 = 0
        var last: AppStoreDate?
        for charge in charges[...place] {
            let transaction = charge.transaction
            let start = transaction.purchased
            if let last, start > last {
                let limit = calendar.moment(last, plus: .days(ReportedPurchase.gapDays))
                if start > limit { days = 0 }
            }
            guard charge.transaction.id != charges[place].transaction.id,
                transaction.beginsPeriod,
                let expires = transaction.expires, transaction.price > 0
            else { continue }
            let refund = charge.refunds.first {
                $0.at <= known && $0.reversed == nil && !$0.isOfSeats
            }?
            .at
            let end = max(start, min(expires, refund ?? expires))
            days += Self.wholeDays(end.milliseconds - start.milliseconds)
            last = max(last ?? end, end)
        }
        return days
    }

    /// The number of whole days in a length of time. Rounded, because a day on which the clocks
    /// change counts as a whole day.
    private static func wholeDays(_ milliseconds: Int64) -> Int64 {
        let day = RFC3339.millisecondsPerDay
        return (milliseconds + day / 2).flooredDivision(by: day)
    }
}

/// One sale or refund, which is a row of a report or a part of one.
struct ReportedSale: Sendable {
    enum Kind: Hashable, Sendable {
        case sale
        case refund
        /// A part of the whole price was refunded. The value is its amount, in thousandths of the
        /// currency's unit.
        case partialRefund(Int64)

        var isPartial: Bool {
            if case .partialRefund = self { true } else { false }
        }
    }

    let purchase: ReportedPurchase
    /// The index of the charge among those of the purchase.
    let place: Int
    let kind: Kind
    /// The seats of one price. Nil unless the purchase is of seats.
    let tier: SeatTier?
    let at: AppStoreDate

    var charge: PurchaseHistory.Charge { purchase.charges[place] }
    var transaction: StoreTransaction { charge.transaction }
    var isReduced: Bool { purchase.isReduced(place) }

    private var quantity: Int64 { tier?.count ?? transaction.quantity }
    private var unitPrice: Int64 { tier?.price ?? transaction.unitPrice }

    var units: Int64 {
        switch kind {
        case .sale: quantity
        case .refund: -quantity
        case .partialRefund: 0
        }
    }

    /// The price of one unit for the customer, in thousandths of the currency's unit. Negative for
    /// refunds.
    var customerPrice: Int64 {
        switch kind {
        case .sale: unitPrice
        case .refund: -unitPrice
        case .partialRefund(let amount): -amount
        }
    }

    /// The developer's proceeds of one unit, never negative, in thousandths of the currency's unit.
    /// For a partial refund, the amount by which the proceeds decrease.
    func proceeds(_ rules: ReportRules) -> Int64 {
        func proceeds(of price: Int64) -> Int64 {
            rules.proceeds(
                of: price, in: transaction.storefront, isReduced: isReduced,
                at: transaction.purchased)
        }
        switch kind {
        case .sale, .refund: return proceeds(of: unitPrice)
        case .partialRefund(let amount):
            let left = transaction.price - amount
            guard let seats = transaction.seats else {
                return proceeds(of: transaction.price) - proceeds(of: left)
            }
            let whole = seats.tiers.reduce(0) { $0 + proceeds(of: $1.price) * $1.count }
            let units = left % seats.count == 0 ? seats.count : 1
            return whole - proceeds(of: left / units) * units
        }
    }
}

extension StoreTransaction {
    /// The price of one unit, in thousandths of the currency's unit.
    var unitPrice: Int64 { quantity > 1 ? price / quantity : price }
}
