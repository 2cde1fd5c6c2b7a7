import Ledger
import Reports

/// Sums of trials, payments and revenue for each cohort.
package struct CohortRows: RowGroup {
    package let tx: DatabaseSession

    /// The kinds of movements that are payments for subscriptions.
    private static let subscriptionKinds =
        "('new', 'converted', 'renewal', 'expansion', 'contraction', 'reactivation')"

    /// The kinds of movements that return a part of a payment.
    private static let givingBack = "('refund', 'credit')"

    /// The outcome of the subscriptions that began on each of the given days.
    package func sums(
        _ cohort: Cohort, _ filter: MovementFilter, in days: Range<Int64>
    ) throws(StorageFailure) -> [CohortSum] {
        guard try hasNumbers(of: cohort, filter) else {
            return try scanned(cohort, filter, in: days)
        }
        let today = rules.money(of: filter.app).clock.dayNumber(at: filter.until)
        return try stored(cohort, filter, in: days, through: today)
    }

    /// Like ``sums(_:_:in:)``, but always computed from the movements themselves. These statements
    /// share no code with ``Reports/CohortReplay``, so each of the two can be used to check the
    /// other.
    package func scanned(
        _ cohort: Cohort, _ filter: MovementFilter, in days: Range<Int64>
    ) throws(StorageFailure) -> [CohortSum] {
        switch cohort {
        case .trials: try trialSums(filter, in: days, Self.paidWhenItEnded)
        case .trialsPaidEver: try trialSums(filter, in: days, Self.paidEver)
        case .payments: try paymentSums(filter, in: days)
        case .standardPayments:
            try paymentSums(filter, in: days, "AND offer_kind IS NULL")
        case .revenue: try revenueSums(filter, in: days)
        case .days: try daySums(filter, in: days)
        case .transactions: try transactionSums(filter, in: days)
        case .endings: try endingSums(filter, in: days)
        case .wallets: try walletSums(filter, in: days)
        }
    }

    /// The SQL for whether a trial became paid when it ended. A customer who had paid before counts
    /// as returning.
    private static let paidWhenItEnded =
        "max(CASE WHEN kind = 'converted' THEN active "
        + "WHEN kind = 'reactivation' AND trials < 0 THEN 1 ELSE 0 END)"
    /// The SQL for whether anything was paid after the first trial, even after a gap.
    private static let paidEver =
        "CASE WHEN max(CASE WHEN active > 0 THEN at_ms END) "
        + ">= min(CASE WHEN kind = 'trial_started' THEN at_ms END) THEN 1 ELSE 0 END"

    /// - Parameter isConverted: SQL whose value is 1 if the trial of a chain of movements became
    ///   paid, otherwise 0.
    private func trialSums(
        _ filter: MovementFilter, in days: Range<Int64>, _ isConverted: String
    ) throws(StorageFailure) -> [CohortSum] {
        let (condition, values) = SumRows.condition(filter)
        return try connection.rows(
            "SELECT first_day, count(*), CAST(sum(converted) AS BIGINT), "
                + "CAST(sum(pending) AS BIGINT) FROM (SELECT "
                + "min(CASE WHEN kind = 'trial_started' THEN day END) AS first_day, "
                + "\(isConverted) AS converted, "
                + "CASE WHEN sum(trials) > 0 THEN 1 ELSE 0 END AS pending "
                + "FROM money_movements WHERE \(condition) AND kind IN "
                + "('trial_started', 'trial_ended', 'converted', 'new', 'reactivation', "
                + "'renewal') "
                + "GROUP BY app, environment, purchase) AS chains "
                + "WHERE first_day >= \(days.lowerBound) AND first_day < \(days.upperBound) "
                + "GROUP BY first_day ORDER BY first_day", values
        ) { row throws(StorageFailure) in
            CohortSum(
                day: try row.integer(),
                numbers: [try row.integer(), try row.integer(), try row.integer()])
        }
    }

    /// - Parameter only: an additional SQL condition that a payment must satisfy.
    private func paymentSums(
        _ filter: MovementFilter, in days: Range<Int64>, _ only: String = ""
    ) throws(StorageFailure) -> [CohortSum] {
        let (condition, values) = SumRows.condition(filter)
        return try connection.rows(
            "SELECT first_day, made, count(*) FROM (SELECT min(day) AS first_day, "
                + "CAST(sum(payments) AS BIGINT) AS made FROM money_movements "
                + "WHERE \(condition) AND payments > 0 "
                + "AND kind IN \(Self.subscriptionKinds) \(only) "
                + "GROUP BY app, environment, purchase) AS chains "
                + "WHERE first_day >= \(days.lowerBound) AND first_day < \(days.upperBound) "
                + "GROUP BY first_day, made ORDER BY first_day, made", values
        ) { row throws(StorageFailure) in
            let (day, made, count) = (try row.integer(), try row.integer(), try row.integer())
            return CohortSum(
                day: day,
                numbers: (1...Int64(Cohort.paymentsMax)).map { $0 <= made ? count : 0 })
        }
    }

    /// The number and revenue of subscriptions. Each subscription is counted on the day of its
    /// first payment, in the currency in which it was first paid.
    private func revenueSums(
        _ filter: MovementFilter, in days: Range<Int64>
    ) throws(StorageFailure) -> [CohortSum] {
        let (condition, values) = SumRows.condition(filter)
        // One row for each purchase and currency. A refund may be for something other than a
        // subscription.
        let parts = """
            SELECT purchase, currency, min(CASE WHEN payments > 0 THEN day END) AS paid_day,
                min(CASE WHEN payments > 0 THEN at_ms END) AS paid_at,
                sum(gross - refunded) AS brought
            FROM money_movements WHERE \(condition)
            AND (kind IN \(Self.givingBack) OR kind IN \(Self.subscriptionKinds))
            GROUP BY app, environment, purchase, currency
            """
        // A payment without a price has no currency: then the next payment's currency counts.
        let chains = """
            SELECT currency, brought, min(paid_day) OVER (PARTITION BY purchase) AS first_day,
                row_number() OVER (PARTITION BY purchase ORDER BY
                    CASE WHEN paid_at IS NULL THEN 1 ELSE 0 END,
                    CASE WHEN currency IS NULL THEN 1 ELSE 0 END, paid_at, currency) AS place
            FROM (\(parts)) AS parts
            """
        let began = "sum(CASE WHEN place = 1 THEN 1 ELSE 0 END)"
        return try connection.rows(
            """
            SELECT first_day, currency, CAST(\(began) AS BIGINT), CAST(sum(brought) AS BIGINT)
            FROM (\(chains)) AS chains
            WHERE first_day >= \(days.lowerBound) AND first_day < \(days.upperBound)
            GROUP BY first_day, currency HAVING \(began) > 0 OR sum(brought) <> 0
            ORDER BY first_day
            """, values
        ) { row throws(StorageFailure) in
            CohortSum(
                day: try row.integer(), currency: try row.optionalText(),
                numbers: [try row.integer(), try row.integer()])
        }
    }

    private func daySums(
        _ filter: MovementFilter, in days: Range<Int64>
    ) throws(StorageFailure) -> [CohortSum] {
        let (condition, values) = SumRows.condition(filter)
        let today = rules.money(of: filter.app).clock.dayNumber(at: filter.until)
        let later = Cohort.daysLater
        let numbers = later.flatMap { day in
            let isOld = "CASE WHEN first_day + \(day) <= \(today)"
            return [
                "CAST(sum(\(isOld) THEN 1 ELSE 0 END) AS BIGINT)",
                "CAST(sum(\(isOld) THEN active_\(day) ELSE 0 END) AS BIGINT)",
            ]
        }
        let sums = later.map { day in
            "sum(CASE WHEN day <= first_day + \(day) THEN active ELSE 0 END) AS active_\(day)"
        }
        let chains = """
            SELECT purchase AS chain, min(day) AS first_day
            FROM money_movements WHERE \(condition) AND payments > 0
            AND kind IN \(Self.subscriptionKinds)
            GROUP BY app, environment, purchase
            """
        let lives = """
            SELECT first_day, \(sums.joined(separator: ", "))
            FROM (SELECT purchase, day, active FROM money_movements WHERE \(condition)) AS changes
            JOIN (\(chains)) AS chains ON chain = purchase GROUP BY purchase, first_day
            """
        return try connection.rows(
            """
            SELECT first_day, count(*), \(numbers.joined(separator: ", ")) FROM (\(lives)) AS lives
            WHERE first_day >= \(days.lowerBound) AND first_day < \(days.upperBound)
            GROUP BY first_day ORDER BY first_day
            """, values
        ) { row throws(StorageFailure) in try Self.sum(&row, hasCurrency: false) }
    }

    private func transactionSums(
        _ filter: MovementFilter, in days: Range<Int64>
    ) throws(StorageFailure) -> [CohortSum] {
        // Payments are counted with their outcome as it is known now, so reversed refunds are left
        // out.
        var filter = filter
        filter.isRestated = true
        let (condition, values) = SumRows.condition(filter)
        let amounts = ["gross", "refunded", "tax", "commission"]
        let sums =
            (amounts.map { "sum(\($0)) AS \($0)" }
            + ["sum(CASE WHEN kind = 'refund' THEN refunded ELSE 0 END) AS returned"])
            .joined(separator: ", ")
        let totals = amounts.map { "CAST(sum(\($0)) AS BIGINT)" }.joined(separator: ", ")
        let charges = """
            SELECT currency, min(CASE WHEN payments > 0 THEN day END) AS first_day, \(sums)
            FROM money_movements WHERE \(condition)
            AND (payments > 0 OR kind IN \(Self.givingBack))
            GROUP BY app, environment, purchase, transaction_id, currency
            """
        return try connection.rows(
            """
            SELECT first_day, currency, count(*), \(totals),
                CAST(sum(CASE WHEN returned > 0 THEN 1 ELSE 0 END) AS BIGINT),
                CAST(sum(CASE WHEN returned > 0 AND returned >= gross THEN 1 ELSE 0 END)
                    AS BIGINT),
                CAST(sum(returned) AS BIGINT)
            FROM (\(charges)) AS charges
            WHERE first_day >= \(days.lowerBound) AND first_day < \(days.upperBound)
            GROUP BY first_day, currency ORDER BY first_day
            """, values
        ) { row throws(StorageFailure) in try Self.sum(&row, hasCurrency: true) }
    }

    /// Reads a day, a currency, and all numbers.
    private static func sum(
        _ row: inout ColumnReader, hasCurrency: Bool
    ) throws(StorageFailure) -> CohortSum {
        let day = try row.integer()
        let currency = hasCurrency ? try row.optionalText() : nil
        var numbers: [Int64] = []
        while row.left > 0 { numbers.append(try row.integer()) }
        return CohortSum(day: day, currency: currency, numbers: numbers)
    }
}

/// Sums of rows that contain only the present state.
extension CohortRows {
    /// Wallet entries are added up in spans of this length, in milliseconds: in every time zone,
    /// days begin at a multiple of 15 minutes.
    private static let walletSpan: Int64 = 15 * 60_000

    /// How many paid subscriptions ended on each day, and why.
    func endingSums(
        _ filter: MovementFilter, in days: Range<Int64>
    ) throws(StorageFailure) -> [CohortSum] {
        let (condition, values) = SumRows.condition(filter)
        // A free period may begin at the moment at which a paid period ends.
        let later = """
            SELECT 1 FROM money_movements AS later WHERE later.app = ends.app
            AND later.environment = ends.environment AND later.purchase = ends.purchase
            AND later.replaced_at_ms IS NULL AND (later.active > 0 OR later.trials > 0)
            AND later.at_ms >= ends.at_ms AND later.at_ms <= \(filter.until.milliseconds)
            """
        let ends = """
            SELECT app, environment, purchase, day, at_ms FROM money_movements WHERE \(condition)
            AND kind = 'churn' AND day >= \(days.lowerBound) AND day < \(days.upperBound)
            """
        return try connection.rows(
            """
            SELECT ends.day, CASE WHEN EXISTS (\(later)) THEN 1 ELSE 0 END AS is_back,
                shown.state, shown.ended_because, count(*) FROM (\(ends)) AS ends
            JOIN money_subscriptions AS shown ON shown.app = ends.app
                AND shown.environment = ends.environment AND shown.purchase = ends.purchase
            GROUP BY ends.day, is_back, shown.state, shown.ended_because ORDER BY ends.day
            """, values
        ) { row throws(StorageFailure) in
            let (day, isBack) = (try row.integer(), try row.flag())
            let state = try row.optionalText().flatMap(Access.State.init(rawValue:))
            let cause = try row.optionalText()
            var numbers = [Int64](repeating: 0, count: ReportCatalogue.endings.count)
            numbers[Self.place(of: isBack ? "returned" : cause, state)] = try row.integer()
            return CohortSum(day: day, numbers: numbers)
        }
    }

    private static func place(of reason: String?, _ state: Access.State?) -> Int {
        let endings = ReportCatalogue.endings
        // While the App Store still tries to collect the payment, no other reason is known.
        let word = state == .retry && reason != "returned" ? "billing" : reason
        return endings.firstIndex { $0 == word } ?? endings.firstIndex { $0 == "other" } ?? 0
    }

    /// The units that were added to and taken from the wallets of each currency, on each day. All
    /// earlier entries are added up to one sum on the day before the given days.
    func walletSums(
        _ filter: MovementFilter, in days: Range<Int64>
    ) throws(StorageFailure) -> [CohortSum] {
        let clock = rules.money(of: filter.app).clock
        let first = clock.midnight(ofDay: days.lowerBound).milliseconds
        let end = min(
            clock.midnight(ofDay: days.upperBound).milliseconds, filter.until.milliseconds + 1)
        let span =
            "CASE WHEN at_ms < \(first) THEN \(first - 1) ELSE at_ms - at_ms % "
            + "\(Self.walletSpan) END"
        return try connection.rows(
            """
            SELECT span, currency, kind, CAST(sum(amount) AS BIGINT) FROM (
                SELECT \(span) AS span, currency, kind, amount FROM shown_wallet_entries
                WHERE app = $1 AND environment = $2 AND at_ms < \(end)
            ) AS entries GROUP BY span, currency, kind ORDER BY span, currency, kind
            """,
            [.text(filter.app.rawValue), .text(filter.environment.rawValue)]
        ) { row throws(StorageFailure) in
            let (at, currency) = (try row.instant(), try row.text())
            var numbers: [Int64] = [0, 0, 0, 0]
            let place = ["purchase", "refund", "debit"].firstIndex(of: try row.text()) ?? 3
            numbers[place] = try row.integer()
            return CohortSum(day: clock.dayNumber(at: at), part: currency, numbers: numbers)
        }
    }
}
