import Ledger
import Reports

/// What is behind a number of a report: a movement, or a purchase with the sum of its movements.
package struct ReportSource: Hashable, Sendable {
    /// Of the movement, or of the purchase's last movement.
    package var at: Instant
    package var purchase: PurchaseID
    /// Nil for a purchase.
    package var kind: Movement.Kind?
    package var transaction: TransactionID?
    /// Nil if the purchase is linked to nobody.
    package var customer: CustomerID?
    package var product: ProductID?
    package var currency: String?
    package var totals: Totals
    /// The ids of documents that attest it, the latest first; at most ``documentsMax``.
    package var documents: [[UInt8]] = []

    package static let documentsMax = 10

    /// The values by which the list continues after this row.
    package var position: [String] {
        [
            "\(at.milliseconds)", purchase.original.rawValue, kind?.rawValue ?? "",
            transaction?.rawValue ?? "", currency ?? "",
        ]
    }
}

extension DatabaseSession {
    /// Lists what is behind a number, after the position of an earlier row; empty for the first.
    package func reportSources(
        _ filter: MovementFilter, _ column: ReportDefinition.Column, in days: Range<Int64>,
        after position: [String], limit: Int
    ) throws(StorageFailure) -> [ReportSource] {
        switch column.source {
        case .flow(let kinds):
            try withDocuments(
                movements(filter, kinds, in: days, after: position, limit: limit), of: filter.app)
        case .stock(let measure):
            try withDocuments(
                purchases(
                    filter, measure, before: days.upperBound, after: position, limit: limit),
                of: filter.app)
        case .computed: []
        }
    }

    private static let selectDocuments =
        "SELECT document, max(attested_at_ms) FROM facts WHERE app = $1 AND environment = $2 "
        + "AND purchase = $3"
    private static let latestDocuments =
        " GROUP BY document ORDER BY 2 DESC, 1 LIMIT \(ReportSource.documentsMax)"

    /// Adds the documents of the transaction and, if it follows from news about the renewal, of
    /// those; or all documents of the purchase.
    private func withDocuments(
        _ sources: [ReportSource], of app: AppID
    ) throws(StorageFailure) -> [ReportSource] {
        var sources = sources
        let keys = sources.map { source -> [Value] in
            let key = Self.key(of: source.purchase, in: app)
            guard let transaction = source.transaction?.rawValue else { return key }
            let isOfRenewal = source.kind?.followsFromRenewal ?? false
            return key + [.text(transaction), .text(isOfRenewal ? "" : transaction)]
        }
        let isOfTransactions = sources.first?.transaction != nil
        let subjects = isOfTransactions ? " AND (subject = $4 OR subject = $5)" : ""
        let rows = try connection.rowsEach(
            Self.selectDocuments + subjects + Self.latestDocuments, keys)
        for (index, rows) in rows.enumerated() {
            for row in rows { sources[index].documents.append(try row.bytes(0)) }
        }
        return sources
    }

    private static let links =
        "LEFT JOIN links ON links.app = found.app AND links.environment = found.environment "
        + "AND links.purchase = found.purchase"

    private func movements(
        _ filter: MovementFilter, _ kinds: Set<Movement.Kind>, in days: Range<Int64>,
        after position: [String], limit: Int
    ) throws(StorageFailure) -> [ReportSource] {
        var (condition, values) = Self.condition(filter)
        let words = kinds.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")
        condition += " AND day >= \(days.lowerBound) AND day < \(days.upperBound)"
        condition += " AND kind IN (\(words))"
        if position.count == 5, let at = Int64(position[0]) {
            let first = values.count + 1
            condition +=
                " AND (at_ms, purchase, kind, transaction_id) > "
                + "($\(first), $\(first + 1), $\(first + 2), $\(first + 3))"
            values += [.integer(at), .text(position[1]), .text(position[2]), .text(position[3])]
        }
        let sums = Self.sumColumns.joined(separator: ", ")
        return try connection.rows(
            "SELECT at_ms, found.environment, found.purchase, kind, transaction_id, customer, "
                + "product, currency, \(sums) FROM (SELECT * FROM money_movements "
                + "WHERE \(condition) ORDER BY at_ms, purchase, kind, transaction_id "
                + "LIMIT \(limit)) AS found \(Self.links) "
                + "ORDER BY at_ms, found.purchase, kind, transaction_id", values
        ).map { (row) throws(StorageFailure) in
            var source = try Self.source(row)
            source.kind = Movement.Kind(rawValue: try row.text(3))
            source.transaction = TransactionID(rawValue: try row.text(4))
            return source
        }
    }

    private func purchases(
        _ filter: MovementFilter, _ measure: ReportDefinition.Measure, before day: Int64,
        after position: [String], limit: Int
    ) throws(StorageFailure) -> [ReportSource] {
        var (condition, values) = Self.condition(filter)
        condition += " AND day < \(day)"
        if position.count == 5 {
            let first = values.count + 1
            condition +=
                " AND (purchase, coalesce(currency, '')) > ($\(first), $\(first + 1))"
            values += [.text(position[1]), .text(position[4])]
        }
        let sums = Self.sumColumns.map { "CAST(sum(\($0)) AS BIGINT) AS \($0)" }
            .joined(separator: ", ")
        return try connection.rows(
            "SELECT at_ms, found.environment, found.purchase, '', '', customer, product, "
                + "currency, \(Self.sumColumns.joined(separator: ", ")) FROM ("
                + "SELECT app, environment, purchase, currency, max(at_ms) AS at_ms, "
                + "max(product) AS product, \(sums) FROM money_movements "
                + "WHERE \(condition) GROUP BY app, environment, purchase, currency "
                + "HAVING sum(\(measure.rawValue)) <> 0 "
                + "ORDER BY purchase, coalesce(currency, '') LIMIT \(limit)) AS found "
                + "\(Self.links) ORDER BY found.purchase, coalesce(currency, '')", values
        ).map { (row) throws(StorageFailure) in try Self.source(row) }
    }

    private static func source(_ row: Row) throws(StorageFailure) -> ReportSource {
        ReportSource(
            at: Instant(milliseconds: try row.integer(0)),
            purchase: PurchaseID(
                TransactionID(rawValue: try row.text(2)),
                in: try Environment.stored(try row.text(1))),
            customer: try row.optionalText(5).map(CustomerID.init(rawValue:)),
            product: try row.optionalText(6).map(ProductID.init(rawValue:)),
            currency: try row.optionalText(7), totals: try totals(row, at: 8))
    }
}

extension Movement.Kind {
    /// Whether documents about the renewal say that it happened.
    fileprivate var followsFromRenewal: Bool {
        switch self {
        case .graceStarted, .graceEnded, .retryStarted, .retryEnded, .retryRecovered,
            .renewalOff, .renewalOn, .churn, .trialEnded:
            true
        case .consumable, .nonConsumable, .nonRenewing, .oneTime, .trialStarted, .converted, .new,
            .renewal, .expansion, .contraction, .reactivation, .refund:
            false
        }
    }
}
