import AppStoreFormats

/// The simulator's own sums for each day in UTC: only production, without purchases shared by
/// Family Sharing. Computed from the world's state, not from the documents that it has sent.
package struct DailyBooks: Hashable, Sendable {
    /// Maximum number of days in one answer.
    package static let daysMax = 1100

    package struct Day: Hashable, Sendable {
        package let date: CivilDate
        /// The amounts by currency.
        package internal(set) var money: [String: Money] = [:]
        /// The subscriptions at the end of the day, or now if the day is not over.
        package internal(set) var counts = Counts()
    }

    /// Amounts in thousandths of the currency's unit.
    package struct Money: Hashable, Sendable {
        /// The amount charged, by the day on which the paid period begins.
        package internal(set) var charged: Int64 = 0
        /// The amount refunded, by the day of the refund, even if the refund was reversed later.
        package internal(set) var refunded: Int64 = 0
        /// The amount of refunds that were reversed on this day.
        package internal(set) var reversed: Int64 = 0
        /// The amounts that upgrades refunded for the replaced periods, by the day of the upgrade.
        package internal(set) var credited: Int64 = 0
        /// The sales tax in ``charged``, minus its refunded part.
        package internal(set) var tax: Int64 = 0
        /// The developer's part of ``charged``, minus its refunded part.
        package internal(set) var proceeds: Int64 = 0

        /// Apple's share, minus its refunded part.
        package var commission: Int64 {
            charged - refunded + reversed - credited - tax - proceeds
        }
    }

    /// The numbers of subscriptions. A subscription counts in at most one state.
    package struct Counts: Hashable, Sendable {
        /// The number of subscriptions in a period at full price.
        package internal(set) var paid = 0
        /// The number of subscriptions in a period at the price of an offer that is not free.
        package internal(set) var offer = 0
        package internal(set) var trial = 0
        package internal(set) var grace = 0
        package internal(set) var retry = 0
        /// The number of subscriptions in ``grace`` whose last period was free.
        package internal(set) var freeGrace = 0
        /// The number of people for whom subscriptions are paid, including subscriptions in grace.
        package internal(set) var seats: Int64 = 0

        /// The number of subscriptions that are open and not free.
        package var active: Int { paid + offer + grace }
    }

    package private(set) var days: [Day]

    private let now: AppStoreDate
    private let rules: ReportRules
    private let calendar: StoreCalendar

    /// - Throws: `bad_request` if the last day is before the first or has not begun, or if there
    ///   are too many days.
    init(
        from first: CivilDate, to last: CivilDate, at now: AppStoreDate,
        _ rules: ReportRules = ReportRules(), _ calendar: StoreCalendar = StoreCalendar()
    ) throws(SimulatorProblem) {
        self.now = now
        self.rules = rules
        self.calendar = calendar
        guard last.daysSince1970 * RFC3339.millisecondsPerDay <= now.milliseconds else {
            throw .badRequest(
                "The day \(last.isoText) has not begun: it is \(RFC3339.text(now)).",
                remedy: "Ask for past days, or advance the clock.")
        }
        let count = last.daysSince1970 - first.daysSince1970 + 1
        guard (1...Int64(Self.daysMax)).contains(count) else {
            throw .badRequest(
                "from and to include \(count) days.",
                remedy: "Ask for 1 to \(Self.daysMax) days, such as ?from=2026-01-01&to=2026-01-31."
            )
        }
        days = (0..<count).map { Day(date: CivilDate(daysSince1970: first.daysSince1970 + $0)) }
    }

    mutating func add(_ history: PurchaseHistory) {
        let purchase = ReportedPurchase(history, calendar)
        for (place, charge) in history.charges.enumerated() {
            let isReduced = charge.transaction.price > 0 && purchase.isReduced(place)
            add(charge, isReduced: isReduced)
        }
        guard !history.steps.isEmpty else { return }
        for place in days.indices {
            let end = (days[place].date.daysSince1970 + 1) * RFC3339.millisecondsPerDay
            let moment = AppStoreDate(milliseconds: min(end - 1, now.milliseconds))
            let standing = history.standing(at: moment)
            guard let standing else { continue }
            days[place].counts.add(standing)
            days[place].counts.seats += history.seats(in: standing, at: moment)
        }
    }

    private mutating func add(_ charge: PurchaseHistory.Charge, isReduced: Bool) {
        let transaction = charge.transaction
        let currency = transaction.storefront.currency
        let whole = parts(of: charge.price, of: transaction, isReduced)
        let day = transaction.purchased
        add(\.charged, charge.price, currency, at: day)
        add(\.tax, whole.tax, currency, at: day)
        add(\.proceeds, whole.proceeds, currency, at: day)
        // A refund of a period that had not begun may be reversed before the period counts.
        for refund in charge.refunds where refund.reversed.map({ refund.at < $0 }) ?? true {
            let isCredit = transaction.isUpgraded && refund.reversed == nil
            let rest = parts(of: charge.price - refund.amount, of: transaction, isReduced)
            add(isCredit ? \.credited : \.refunded, refund.amount, currency, at: refund.at)
            add(\.tax, rest.tax - whole.tax, currency, at: refund.at)
            add(\.proceeds, rest.proceeds - whole.proceeds, currency, at: refund.at)
            guard let reversed = refund.reversed else { continue }
            add(\.reversed, refund.amount, currency, at: reversed)
            add(\.tax, whole.tax - rest.tax, currency, at: reversed)
            add(\.proceeds, whole.proceeds - rest.proceeds, currency, at: reversed)
        }
    }

    /// Divides the amount charged for a transaction. A purchase of seats has one part for each
    /// seat: for all seats, or only for the seats that were not refunded. Any other purchase has
    /// one part for each unit, if the amount is divisible by the number of units.
    private func parts(
        of amount: Int64, of transaction: StoreTransaction, _ isReduced: Bool
    ) -> (tax: Int64, proceeds: Int64) {
        if let seats = transaction.seats,
            let tiers = [seats.tiers, seats.tiersLeft].first(where: { $0.total == amount })
        {
            return tiers.reduce((Int64(0), Int64(0))) { sum, tier in
                let one = split(tier.price, of: transaction, isReduced)
                return (sum.0 + one.tax * tier.count, sum.1 + one.proceeds * tier.count)
            }
        }
        let units = amount % transaction.quantity == 0 ? transaction.quantity : 1
        let one = split(amount / units, of: transaction, isReduced)
        return (one.tax * units, one.proceeds * units)
    }

    private func split(
        _ price: Int64, of transaction: StoreTransaction, _ isReduced: Bool
    ) -> (tax: Int64, proceeds: Int64) {
        let tax = rules.tax(in: price, transaction.storefront)
        let proceeds = rules.proceeds(
            of: price, in: transaction.storefront, isReduced: isReduced,
            at: transaction.purchased)
        return (tax, proceeds)
    }

    private mutating func add(
        _ sum: WritableKeyPath<Money, Int64>, _ amount: Int64, _ currency: String,
        at moment: AppStoreDate
    ) {
        guard amount != 0, let first = days.first?.date.daysSince1970 else { return }
        let day = moment.milliseconds.flooredDivision(by: RFC3339.millisecondsPerDay)
        guard let place = Int(exactly: day - first), days.indices.contains(place) else { return }
        days[place].money[currency, default: Money()][keyPath: sum] += amount
    }
}

extension DailyBooks.Counts {
    fileprivate mutating func add(_ standing: PurchaseHistory.Standing) {
        switch standing {
        case .grace(let charge):
            grace += 1
            if charge.transaction.offer?.discount == .freeTrial { freeGrace += 1 }
        case .retry: retry += 1
        case .open(let charge):
            switch charge.transaction.offer?.discount {
            case nil: paid += 1
            case .freeTrial?: trial += 1
            default: offer += 1
            }
        }
    }
}

extension AppStoreSimulator {
    /// The sums of each day from a first day to a last day, both included.
    ///
    /// - Throws: `bad_request` if a day has not begun, or if there are no days or too many.
    package func dailyBooks(
        from first: CivilDate, to last: CivilDate
    ) throws(SimulatorProblem) -> DailyBooks {
        try dailyBooks(from: first, to: last, \.self)
    }

    /// The sums of each day, as if payments collected in a grace period had been made at its
    /// beginning.
    ///
    /// - Parameter isRestated: whether refunds that were reversed are left out, as if they had
    ///   never been given.
    package func dailyBooksAsCollected(
        from first: CivilDate, to last: CivilDate, isRestated: Bool
    ) throws(SimulatorProblem) -> DailyBooks {
        try dailyBooks(from: first, to: last) { $0.asCollected(isRestated: isRestated) }
    }

    private func dailyBooks(
        from first: CivilDate, to last: CivilDate,
        _ shown: (PurchaseHistory) -> PurchaseHistory
    ) throws(SimulatorProblem) -> DailyBooks {
        var books = try DailyBooks(
            from: first, to: last, at: clock.now, settings.reports, world.calendar)
        for history in TrueBooks(world).purchaseHistories { books.add(shown(history)) }
        return books
    }
}

// MARK: - The route

extension DailyBooks {
    package var json: JSON { ["days": .array(days.map(\.json))] }
}

extension DailyBooks.Day {
    fileprivate var json: JSON {
        let sums = money.sorted { $0.key < $1.key }.map { currency, sum -> JSON in
            [
                "currency": .string(currency), "charged_milliunits": .integer(sum.charged),
                "refunded_milliunits": .integer(sum.refunded),
                "reversed_milliunits": .integer(sum.reversed),
                "credited_milliunits": .integer(sum.credited),
                "tax_milliunits": .integer(sum.tax),
                "commission_milliunits": .integer(sum.commission),
                "proceeds_milliunits": .integer(sum.proceeds),
            ]
        }
        return [
            "date": .string(date.isoText), "money": .array(sums),
            "active": .integer(Int64(counts.active)), "paid": .integer(Int64(counts.paid)),
            "offer": .integer(Int64(counts.offer)), "trial": .integer(Int64(counts.trial)),
            "grace": .integer(Int64(counts.grace)), "retry": .integer(Int64(counts.retry)),
            "seats": .integer(counts.seats),
        ]
    }
}

extension SimulatorRoute {
    static let dailyBooksRoutes = [
        get(
            "/_sim/books",
            "The ground truth by day (UTC): money, and how many subscriptions were active.",
            query: ["from", "to"], gives: .json("DailyBooks")
        ) { simulator, call in
            let days = try (call.day("from"), call.day("to"))
            return .json(try await simulator.dailyBooks(from: days.0, to: days.1).json)
        }
    ]
}

extension SimulatorRoute.Call {
    fileprivate func day(_ name: String) throws(SimulatorProblem) -> CivilDate {
        guard let text = query[name], let day = CivilDate(isoText: text) else {
            throw .badRequest(
                "The query has no day \(name).", remedy: "Send ?\(name)=2026-01-31, in UTC.")
        }
        return day
    }
}
