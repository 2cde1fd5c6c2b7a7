import Ledger
import Reports

/// A source of a report's number: a movement, or a purchase with the sum of its movements.
package struct ReportSource: Hashable, Sendable {
    /// The time of the movement, or of the purchase's last movement.
    package var at: Instant
    /// The day of the movement, or of the purchase's last movement, counted from 1970-01-01.
    fileprivate var day: Int64
    package var purchase: PurchaseID
    /// The kind of the movement. Nil for a purchase.
    package var kind: Movement.Kind?
    /// Whether the movement is part of the effect that a refund had until the refund was reversed.
    fileprivate var isMeanwhile = false
    package var transaction: TransactionID?
    /// The owner of the purchase. Nil if it is not linked to a customer.
    package var customer: CustomerID?
    package var product: ProductID?
    package var currency: String?
    package var totals: Totals
    /// The ids of documents that attest the source, the latest first; at most ``documentsMax``.
    package var documents: [[UInt8]] = []

    package static let documentsMax = 10

    /// The position after this row, where the list continues: see ``SourcePosition``.
    package var position: SourcePosition {
        SourcePosition(
            day: day, at: at, purchase: purchase.original.rawValue,
            kind: kind.map { Movement.Category($0, isMeanwhile: isMeanwhile).rawValue } ?? "",
            transaction: transaction?.rawValue ?? "", currency: currency ?? "")
    }
}

/// The position where a list of a number's sources continues. Movements are listed by day, time,
/// purchase, kind and transaction; purchases by purchase and currency.
package struct SourcePosition: Hashable, Sendable {
    package var day: Int64
    package var at: Instant
    package var purchase: String
    package var kind: String
    package var transaction: String
    package var currency: String

    package init(
        day: Int64, at: Instant, purchase: String, kind: String, transaction: String,
        currency: String
    ) {
        (self.day, self.at, self.purchase) = (day, at, purchase)
        (self.kind, self.transaction, self.currency) = (kind, transaction, currency)
    }
}

extension SourcePosition {
    /// Whether this position comes before another position, in the database's order: byte by byte.
    fileprivate func isBefore(_ other: Self) -> Bool {
        guard (day, at) == (other.day, other.at) else { return (day, at) < (other.day, other.at) }
        let names = zip(
            [purchase, kind, transaction], [other.purchase, other.kind, other.transaction])
        for (own, others) in names where own != others {
            return own.utf8.lexicographicallyPrecedes(others.utf8)
        }
        return false
    }
}

/// The purchases and movements behind a report's number.
package struct ReportSourceRows: RowGroup {
    package let tx: DatabaseSession

    /// Lists the sources of a number, after the position of an earlier row. A nil position starts
    /// at the first row.
    ///
    /// - Parameter stretch: how many purchases are added up in the first step. Tests use a smaller
    ///   number.
    package func all(
        _ filter: MovementFilter, _ column: ReportDefinition.Column, in days: Range<Int64>,
        after position: SourcePosition?, limit: Int, stretch: Int = purchasesAtFirst
    ) throws(StorageFailure) -> [ReportSource] {
        switch column.source {
        case .flow(let kinds):
            try withDocuments(
                movements(filter, kinds, in: days, after: position, limit: limit), of: filter.app)
        case .stock(let measure):
            try withDocuments(
                purchases(
                    filter, measure, before: days.upperBound, after: position, limit: limit,
                    stretch: stretch),
                of: filter.app)
        case .computed: []
        }
    }

    private static let selectDocuments =
        "SELECT document, max(attested_at_ms) FROM facts WHERE app = $1 AND environment = $2 "
        + "AND purchase = $3"
    private static let latestDocuments =
        " GROUP BY document ORDER BY 2 DESC, 1 LIMIT \(ReportSource.documentsMax)"

    /// Adds the documents of the transaction and, if the movement follows from a report about the
    /// renewal, the documents of that report. If a source is a purchase, adds all documents of the
    /// purchase.
    private func withDocuments(
        _ sources: [ReportSource], of app: AppID
    ) throws(StorageFailure) -> [ReportSource] {
        var sources = sources
        let keys = sources.map { source -> [Value] in
            let key = PurchaseRows.key(of: source.purchase, in: app)
            guard let transaction = source.transaction?.rawValue else { return key }
            let isOfRenewal = source.kind?.followsFromRenewal ?? false
            return key + [.text(transaction), .text(isOfRenewal ? "" : transaction)]
        }
        let isOfTransactions = sources.first?.transaction != nil
        let subjects = isOfTransactions ? " AND (subject = $4 OR subject = $5)" : ""
        let rows = try connection.rowsEach(
            Self.selectDocuments + subjects + Self.latestDocuments, keys)
        for (index, rows) in rows.enumerated() {
            sources[index].documents += try rows.read { row throws(StorageFailure) in
                let document = try row.bytes()
                try row.skip()
                return document
            }
        }
        return sources
    }

    private static let links =
        "LEFT JOIN links ON links.app = found.app AND links.environment = found.environment "
        + "AND links.purchase = found.purchase"

    private func movements(
        _ filter: MovementFilter, _ kinds: Set<Movement.Kind>, in days: Range<Int64>,
        after position: SourcePosition?, limit: Int
    ) throws(StorageFailure) -> [ReportSource] {
        let (select, values) = Self.selectMovements(
            filter, in: days, after: position, limit: limit)
        let categories = kinds.flatMap { kind in
            (filter.isRestated ? [false] : [false, true]).map {
                Movement.Category(kind, isMeanwhile: $0)
            }
        }
        let sources = try connection.rowsEach(
            select, categories.map { values + [.text($0.rawValue)] }
        ).joined().read(Self.source)
        return Array(sources.sorted { $0.position.isBefore($1.position) }.prefix(limit))
    }

    /// Selects the first movements of one kind. The caller appends the kind to the values. The
    /// index has the movements in this order, so few rows are read.
    static func selectMovements(
        _ filter: MovementFilter, in days: Range<Int64>, after position: SourcePosition?,
        limit: Int
    ) -> (sql: String, values: [Value]) {
        var (condition, values) = SumRows.condition(filter)
        let order = "day, at_ms, purchase, kind, transaction_id"
        condition += " AND day < \(days.upperBound)"
        if let position {
            let places = (1...5).map { "$\(values.count + $0)" }.joined(separator: ", ")
            condition += " AND (\(order)) > (\(places))"
            values += [
                .integer(position.day), .integer(position.at.milliseconds),
                .text(position.purchase), .text(position.kind), .text(position.transaction),
            ]
        } else {
            condition += " AND day >= \(days.lowerBound)"
        }
        condition += " AND kind = $\(values.count + 1)"
        let select =
            "SELECT at_ms, day, found.environment, found.purchase, kind, transaction_id, customer, "
            + "product, currency, \(MovementRows.sumColumns.joined(separator: ", ")) "
            + "FROM (SELECT * FROM money_movements WHERE \(condition) "
            + "ORDER BY \(order) LIMIT \(limit)) AS found \(links)"
        return (select, values)
    }

    /// The number of purchases whose movements are added up at once. The number is doubled as long
    /// as only few of the purchases are sources of the report's number.
    package static let purchasesAtFirst = 1_000
    private static let purchasesAtOnceMax = 64_000

    private func purchases(
        _ filter: MovementFilter, _ measure: ReportDefinition.Measure, before day: Int64,
        after position: SourcePosition?, limit: Int, stretch: Int
    ) throws(StorageFailure) -> [ReportSource] {
        var sources: [ReportSource] = []
        var first: String? = position?.purchase ?? ""
        var size = stretch
        while let start = first, sources.count < limit {
            first = try purchase(size, after: start, filter)
            sources += try purchases(
                filter, measure, before: day, from: start, to: first,
                after: position, limit: limit - sources.count)
            size = min(2 * size, Self.purchasesAtOnceMax)
        }
        return sources
    }

    /// The purchases from a start to an end. Without an end, all purchases from the start on.
    private func purchases(
        _ filter: MovementFilter, _ measure: ReportDefinition.Measure, before day: Int64,
        from start: String, to end: String?, after position: SourcePosition?, limit: Int
    ) throws(StorageFailure) -> [ReportSource] {
        var (condition, values) = SumRows.condition(filter)
        condition += " AND day < \(day) AND purchase >= $\(values.count + 1)"
        values.append(.text(start))
        if let end {
            condition += " AND purchase < $\(values.count + 1)"
            values.append(.text(end))
        }
        if let position {
            condition +=
                " AND (purchase, coalesce(currency, '')) > "
                + "($\(values.count + 1), $\(values.count + 2))"
            values += [.text(position.purchase), .text(position.currency)]
        }
        let sums = MovementRows.sumColumns.map { "CAST(sum(\($0)) AS BIGINT) AS \($0)" }
            .joined(separator: ", ")
        return try connection.rows(
            "SELECT at_ms, day, found.environment, found.purchase, '', '', customer, "
                + "(\(Self.lastProduct(measure, condition))) AS product, "
                + "currency, \(MovementRows.sumColumns.joined(separator: ", ")) FROM ("
                + "SELECT app, environment, purchase, currency, max(at_ms) AS at_ms, "
                + "max(day) AS day, \(sums) FROM money_movements "
                + "WHERE \(condition) GROUP BY app, environment, purchase, currency "
                + "HAVING sum(\(measure.rawValue)) <> 0 "
                + "ORDER BY purchase, coalesce(currency, '') LIMIT \(limit)) AS found "
                + "\(Self.links) ORDER BY found.purchase, coalesce(currency, '')", values,
            Self.source)
    }

    /// SQL that selects the product under which a purchase is counted. A product that was changed
    /// to another product has a sum of zero.
    private static func lastProduct(
        _ measure: ReportDefinition.Measure, _ condition: String
    ) -> String {
        "SELECT own.product FROM money_movements AS own WHERE \(condition) "
            + "AND own.app = found.app AND own.purchase = found.purchase "
            + "AND coalesce(own.currency, '') = coalesce(found.currency, '') "
            + "GROUP BY own.product HAVING sum(own.\(measure.rawValue)) <> 0 "
            + "ORDER BY max(own.at_ms) DESC, own.product LIMIT 1"
    }

    /// The purchase that follows the given purchase by the given number of places. Nil if fewer
    /// purchases follow.
    private func purchase(
        _ count: Int, after start: String, _ filter: MovementFilter
    ) throws(StorageFailure) -> String? {
        try connection.firstRow(
            "SELECT purchase FROM purchases WHERE app = $1 AND environment = $2 "
                + "AND purchase >= $3 ORDER BY purchase LIMIT 1 OFFSET \(count)",
            [.text(filter.app.rawValue), .text(filter.environment.rawValue), .text(start)]
        ) { row throws(StorageFailure) in try row.text() }
    }

    private static func source(_ row: inout ColumnReader) throws(StorageFailure) -> ReportSource {
        let (at, day, purchase) = (try row.instant(), try row.integer(), try row.purchase())
        let category = Movement.Category(rawValue: try row.text())
        let transaction = try row.transaction()
        var source = ReportSource(
            at: at, day: day, purchase: purchase, kind: category?.kind,
            transaction: transaction.rawValue.isEmpty ? nil : transaction,
            customer: try row.optionalCustomer(),
            product: try row.optionalText().map(ProductID.init(rawValue:)),
            currency: try row.optionalText(), totals: try MovementRows.totals(&row))
        source.isMeanwhile = category?.isMeanwhile ?? false
        return source
    }
}

extension Movement.Kind {
    /// Whether the movement follows from documents about the renewal.
    fileprivate var followsFromRenewal: Bool {
        switch self {
        case .graceStarted, .graceEnded, .retryStarted, .retryEnded, .retryRecovered,
            .renewalOff, .renewalOn, .churn, .trialEnded:
            true
        case .consumable, .nonConsumable, .nonRenewing, .oneTime, .trialStarted, .converted, .new,
            .renewal, .expansion, .contraction, .reactivation, .refund,
            .credit:
            false
        }
    }
}
