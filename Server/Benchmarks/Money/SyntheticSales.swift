import Ledger
import Storage

/// Movements of monthly subscriptions over 36 months, written by the database itself. They have the
/// kinds, products, countries and prices that reports distinguish, spread by arithmetic on the
/// numbers of the subscriptions.
struct SyntheticSales {
    static let app: AppID = "birds"
    /// 2023-01-01, counted from 1970-01-01.
    static let firstDay: Int64 = 19_358
    static let days: Int64 = 1096
    /// The average number of transactions of a subscription within these days.
    private static let transactionsEach = 8.4
    /// The number of subscriptions that one statement writes.
    private static let batch = 20_000
    private static let dayMilliseconds: Int64 = 86_400_000

    private let chains: Int

    init(transactions: Int) { chains = max(1, Int(Double(transactions) / Self.transactionsEach)) }

    /// Writes the movements. First drops the index by kind, because creating it at the end is
    /// faster.
    func write(to driver: any DatabaseDriver) async throws {
        try await run("DROP INDEX money_movements_by_kind", in: driver)
        for first in stride(from: 0, to: chains, by: Self.batch) {
            let end = min(first + Self.batch, chains)
            try await run(Self.purchases(first..<end, driver.dialect), in: driver)
            for movement in Self.movements {
                try await run(Self.insert(movement, first..<end), in: driver)
            }
            if first / Self.batch % 10 == 0 { Progress.report("  \(end) of \(chains) written") }
        }
        try await run(Schema.index(named: "money_movements_by_kind", driver.dialect), in: driver)
    }

    private func run(_ sql: String, in driver: any DatabaseDriver) async throws {
        _ = try await driver.write { connection in
            if connection.dialect == .postgres {
                try connection.run(Dialect.withoutStatementTimeout, [])
            }
            return try connection.run(sql, [])
        }
    }

    /// The SQL of the chains, in which `p` is the number of a subscription. Some countries have
    /// many subscriptions, most have few.
    private static func chains(_ numbers: Range<Int>) -> String {
        """
        WITH RECURSIVE numbers (p) AS (SELECT CAST(\(numbers.lowerBound) AS BIGINT) UNION ALL
            SELECT p + 1 FROM numbers WHERE p + 1 < \(numbers.upperBound)),
        periods (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM periods WHERE i < 18),
        chains AS (SELECT p, 'p' || (1000000000 + p) AS purchase,
            \(firstDay) + (p * 7919) % \(days) AS first, 1 + (p * 31) % 19 AS length,
            (p * 977) % \(dayMilliseconds) AS time, p % 5 AS product,
            ((p * 37) % 60) * ((p * 37) % 60) / 60 AS country,
            990 * (1 + p % 5) AS price FROM numbers)
        """
    }

    private static func purchases(_ numbers: Range<Int>, _ dialect: Dialect) -> String {
        let bytes = dialect == .sqlite ? "BLOB" : "BYTEA"
        return """
            INSERT INTO purchases (app, environment, purchase, timeline, known_at_ms, failures,
                lease_until_ms) \(chains(numbers))
            SELECT 'birds', 'production', purchase, CAST('' AS \(bytes)), 0, 0, 0 FROM chains
            """
    }

    /// A kind of movement, with the expressions of its values in terms of a chain and a period `i`.
    private struct Synthetic {
        var kind: String
        var condition = "1 = 1"
        /// The number of days from the beginning of the period to the movement.
        var after = 0
        var isReplaced = false
        var amounts: [String: String] = [:]
    }

    private static let entry = ["mrr": "price", "contracted": "price", "active": "1"]
    private static let charge = [
        "gross": "price", "tax": "price / 6", "commission": "price / 4", "payments": "1",
    ]

    private static let movements = [
        Synthetic(
            kind: "'new'", condition: "i = 0",
            amounts: charge.merging(entry) { one, _ in one }),
        Synthetic(
            kind: "CASE WHEN (p + i) % 23 = 0 THEN 'expansion' WHEN (p + i) % 29 = 0 "
                + "THEN 'contraction' ELSE 'renewal' END", condition: "i > 0", amounts: charge),
        Synthetic(
            kind: "'churn'", after: 30, isReplaced: true,
            amounts: ["mrr": "-price", "contracted": "-price", "active": "-1"]),
        Synthetic(
            kind: "'renewal_off'", condition: "i = length - 1 AND p % 2 = 0", after: 9,
            amounts: ["not_renewing": "1"]),
        Synthetic(
            kind: "'renewal_on'", condition: "i = length - 1 AND p % 2 = 0", after: 30,
            amounts: ["not_renewing": "-1"]),
        Synthetic(
            kind: "'refund'", condition: "(p + i) % 31 = 0", after: 3,
            amounts: ["refunded": "price", "tax": "-price / 6", "commission": "-price / 4"]),
    ]

    private static let sums = [
        "gross", "refunded", "tax", "commission", "mrr", "payments", "active", "trials", "grace",
        "retry", "not_renewing", "mrr_tax", "mrr_commission", "mrr_of_four_weeks", "contracted",
        "promised",
    ]

    /// The statement that inserts one kind of movement. A renewal replaces the expected end.
    private static func insert(_ movement: Synthetic, _ numbers: Range<Int>) -> String {
        let now = firstDay + days
        let replaced =
            movement.isReplaced
            ? "CASE WHEN i + 1 < length AND day + 30 < \(now) "
                + "THEN (day + 30) * \(dayMilliseconds) + time END" : "NULL"
        let values = sums.map { movement.amounts[$0] ?? "0" }.joined(separator: ", ")
        return """
            INSERT INTO money_movements (app, environment, purchase, at_ms, kind, transaction_id,
                known_at_ms, replaced_at_ms, day, product, subscription_group, storefront,
                offer_kind, offer, price, currency, \(sums.joined(separator: ", ")))
            \(chains(numbers)),
            paid AS (SELECT chains.*, i, first + 30 * i AS day FROM chains, periods
                WHERE i < length AND first + 30 * i < \(now) AND \(movement.condition))
            SELECT 'birds', 'production', purchase,
                (day + \(movement.after)) * \(dayMilliseconds) + time, \(movement.kind),
                't' || (p * 100 + i), day * \(dayMilliseconds) + time, \(replaced),
                day + \(movement.after), 'product.' || product, 'group', 'C' || (100 + country),
                CASE WHEN i = 0 AND p % 4 = 0 THEN 'introductory' END, NULL, price,
                'K' || (10 + country % 20), \(values) FROM paid
            """
    }
}
