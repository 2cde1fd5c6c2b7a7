import Ledger
import Reports

extension DatabaseSession {
    /// Movements that are payments for subscriptions.
    private static let subscriptionKinds =
        "('new', 'converted', 'renewal', 'expansion', 'contraction', 'reactivation')"

    /// What became of the subscriptions that began on each of the given days.
    package func cohortSums(
        _ cohort: Cohort, _ filter: MovementFilter, in days: Range<Int64>
    ) throws(StorageFailure) -> [CohortSum] {
        switch cohort {
        case .trials: try trialSums(filter, in: days)
        case .payments: try paymentSums(filter, in: days)
        case .revenue: try revenueSums(filter, in: days)
        }
    }

    private func trialSums(
        _ filter: MovementFilter, in days: Range<Int64>
    ) throws(StorageFailure) -> [CohortSum] {
        let (condition, values) = Self.condition(filter)
        return try connection.rows(
            "SELECT first_day, count(*), CAST(sum(converted) AS BIGINT), "
                + "CAST(sum(pending) AS BIGINT) FROM (SELECT "
                + "min(CASE WHEN kind = 'trial_started' THEN day END) AS first_day, "
                + "max(CASE WHEN kind = 'converted' THEN active ELSE 0 END) AS converted, "
                + "CASE WHEN sum(trials) > 0 THEN 1 ELSE 0 END AS pending "
                + "FROM money_movements WHERE \(condition) AND kind IN "
                + "('trial_started', 'trial_ended', 'converted', 'reactivation', 'renewal') "
                + "GROUP BY app, environment, purchase) AS chains "
                + "WHERE first_day >= \(days.lowerBound) AND first_day < \(days.upperBound) "
                + "GROUP BY first_day ORDER BY first_day", values
        ).map { (row) throws(StorageFailure) in
            CohortSum(
                day: try row.integer(0),
                numbers: [try row.integer(1), try row.integer(2), try row.integer(3)])
        }
    }

    private func paymentSums(
        _ filter: MovementFilter, in days: Range<Int64>
    ) throws(StorageFailure) -> [CohortSum] {
        let (condition, values) = Self.condition(filter)
        return try connection.rows(
            "SELECT first_day, made, count(*) FROM (SELECT min(day) AS first_day, "
                + "CAST(sum(payments) AS BIGINT) AS made FROM money_movements "
                + "WHERE \(condition) AND payments > 0 AND kind IN \(Self.subscriptionKinds) "
                + "GROUP BY app, environment, purchase) AS chains "
                + "WHERE first_day >= \(days.lowerBound) AND first_day < \(days.upperBound) "
                + "GROUP BY first_day, made ORDER BY first_day, made", values
        ).map { (row) throws(StorageFailure) in
            let (made, count) = (try row.integer(1), try row.integer(2))
            return CohortSum(
                day: try row.integer(0),
                numbers: (1...Int64(Cohort.paymentsMax)).map { $0 <= made ? count : 0 })
        }
    }

    private func revenueSums(
        _ filter: MovementFilter, in days: Range<Int64>
    ) throws(StorageFailure) -> [CohortSum] {
        let (condition, values) = Self.condition(filter)
        return try connection.rows(
            "SELECT first_day, currency, count(*), CAST(sum(brought) AS BIGINT) FROM (SELECT "
                + "currency, min(CASE WHEN payments > 0 THEN day END) AS first_day, "
                + "sum(gross - refunded) AS brought FROM money_movements WHERE \(condition) "
                + "AND (kind = 'refund' OR kind IN \(Self.subscriptionKinds)) "
                + "GROUP BY app, environment, purchase, currency) AS chains "
                + "WHERE first_day >= \(days.lowerBound) AND first_day < \(days.upperBound) "
                + "GROUP BY first_day, currency ORDER BY first_day", values
        ).map { (row) throws(StorageFailure) in
            CohortSum(
                day: try row.integer(0), currency: try row.optionalText(1),
                numbers: [try row.integer(2), try row.integer(3)])
        }
    }
}
