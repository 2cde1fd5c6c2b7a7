import Ledger
import Reports

/// A transaction with all values in the rows about money, for other systems' formats.
package struct SoldTransaction: Hashable, Sendable {
    package var purchase: PurchaseID
    /// The number of the period in the purchase, from 1. Nil for a period that never began.
    package var number: Int?
    /// Whether the period is the first paid period after a free period.
    package var isConversion = false
    package var transaction: TransactionID
    package var segment: Segment
    /// The kind of the product, as in the view `transactions`.
    package var kind: String
    package var terms: Terms
    package var ownership: String
    package var from: Instant
    package var until: Instant?
    package var endedAt: Instant?
    /// The amount charged. All amounts are in thousandths of the currency's unit.
    package var gross: Int64
    package var tax: Int64
    package var commission: Int64
    package var refunded: Int64
    package var refundedAt: Instant?
    /// The owner of the purchase. Nil if it is not linked to a customer.
    package var customer: CustomerID?
    /// The customer's newest id.
    package var lastID: CustomerID?
    package var firstSeenAt: Instant?
    package var placement: String?
    package var graceUntil: Instant?
    package var troubleAt: Instant?
    package var renewalOffAt: Instant?
    package var renewalOnAt: Instant?
    /// When the last document that changed the transaction's movements was received.
    package var changedAt: Instant?
}

/// Products and transactions that were sold, and rows to export.
package struct SaleRows: RowGroup {
    package let tx: DatabaseSession

    /// Reads the transactions of the next purchases: see ``exportedRows(of:in:_:after:since:)``.
    package func transactions(
        in app: AppID, _ environment: Environment, after last: String, since: Instant?
    ) throws(StorageFailure) -> (transactions: [SoldTransaction], last: String?) {
        let key: [Value] = [.text(app.rawValue), .text(environment.rawValue), .text(last)]
        guard let end = try lastExportedPurchase(key) else { return ([], nil) }
        var transactions = try connection.rows(
            Self.selectSold, key + [.text(end), .integer(since?.milliseconds ?? Int64.min)]
        ) { row throws(StorageFailure) in try SoldTransaction(&row, in: environment) }
        let lastIDs = try lastIDs(of: Set(transactions.compactMap(\.customer)), in: app)
        let timelines = try tx.links.timelines(
            "SELECT purchase, timeline FROM purchases WHERE app = $1 AND environment = $2 "
                + "AND purchase > $3 AND purchase <= $4", key + [.text(end)], in: environment)
        let known = Dictionary(timelines.map { ($0.purchase, $0) }) { one, _ in one }
        for index in transactions.indices {
            transactions[index].lastID = transactions[index].customer.flatMap { lastIDs[$0] }
            known[transactions[index].purchase].map { transactions[index].setPlace(in: $0) }
        }
        return (transactions, end)
    }

    /// The newest id of each customer.
    private func lastIDs(
        of customers: Set<CustomerID>, in app: AppID
    ) throws(StorageFailure) -> [CustomerID: CustomerID] {
        let customers = customers.sorted()
        let rows = try connection.rowsEach(
            "SELECT id FROM customer_ids WHERE app = $1 AND customer = $2 "
                + "ORDER BY since_ms DESC, id LIMIT 1",
            customers.map { [.text(app.rawValue), .text($0.rawValue)] })
        var ids: [CustomerID: CustomerID] = [:]
        for (customer, rows) in zip(customers, rows) {
            ids[customer] = try rows.first?.read { row throws(StorageFailure) in
                try row.customer()
            }
        }
        return ids
    }

    /// SQL for the first or last moment of the known movements of these kinds.
    private static func moment(_ aggregate: String, of kinds: String) -> String {
        "\(aggregate)(CASE WHEN replaced_at_ms IS NULL AND kind IN (\(kinds)) THEN at_ms END)"
    }

    private static let selectSold =
        "SELECT sold.purchase, sold.transaction_id, "
        + SegmentColumns.names.map { "sold.\($0)" }.joined(separator: ", ")
        + ", sold.kind, sold.terms, sold.ownership, sold.from_ms, sold.until_ms, "
        + "sold.ended_at_ms, sold.gross, sold.tax, sold.commission, sold.refunded, "
        + "sold.refunded_at_ms, links.customer, customers.created_at_ms, origins.placement, "
        + "grace_until, trouble_at, off_at, on_at, changed_at "
        + "FROM money_transactions AS sold "
        + "LEFT JOIN (SELECT app, environment, purchase, transaction_id, "
        + moment("max", of: "'grace_ended'") + " AS grace_until, "
        + moment("min", of: "'grace_started', 'retry_started'") + " AS trouble_at, "
        + moment("max", of: "'renewal_off'") + " AS off_at, "
        + moment("max", of: "'renewal_on'") + " AS on_at, "
        + "max(coalesce(replaced_at_ms, known_at_ms)) AS changed_at FROM money_movements "
        + "WHERE app = $1 AND environment = $2 AND purchase > $3 AND purchase <= $4 "
        + "GROUP BY app, environment, purchase, transaction_id) AS moved "
        + "ON moved.app = sold.app AND moved.environment = sold.environment "
        + "AND moved.purchase = sold.purchase AND moved.transaction_id = sold.transaction_id "
        + "LEFT JOIN links ON links.app = sold.app AND links.environment = sold.environment "
        + "AND links.purchase = sold.purchase "
        + "LEFT JOIN customers ON customers.app = sold.app "
        + "AND customers.customer = links.customer "
        + "LEFT JOIN purchase_origins AS origins ON origins.app = sold.app "
        + "AND origins.environment = sold.environment AND origins.purchase = sold.purchase "
        + "AND origins.transaction_id = sold.transaction_id "
        + "WHERE sold.app = $1 AND sold.environment = $2 AND sold.purchase > $3 "
        + "AND sold.purchase <= $4 AND (sold.from_ms >= $5 OR sold.refunded_at_ms >= $5) "
        + "ORDER BY sold.purchase, sold.number"
}

extension SoldTransaction {
    fileprivate init(
        _ row: inout ColumnReader, in environment: Environment
    ) throws(StorageFailure) {
        purchase = PurchaseID(try row.transaction(), in: environment)
        transaction = try row.transaction()
        segment = try SegmentColumns.segment(&row)
        kind = try row.text()
        guard let terms = Terms(rawValue: try row.text()) else {
            throw StorageFailure("unknown terms: use a newer version of Perennial")
        }
        self.terms = terms
        ownership = try row.text()
        from = try row.instant()
        (until, endedAt) = (try row.optionalInstant(), try row.optionalInstant())
        (gross, tax) = (try row.integer(), try row.integer())
        (commission, refunded) = (try row.integer(), try row.integer())
        refundedAt = try row.optionalInstant()
        customer = try row.optionalCustomer()
        firstSeenAt = try row.optionalInstant()
        placement = try row.optionalText()
        (graceUntil, troubleAt) = (try row.optionalInstant(), try row.optionalInstant())
        (renewalOffAt, renewalOnAt) = (try row.optionalInstant(), try row.optionalInstant())
        changedAt = try row.optionalInstant()
    }

    /// Sets the values that depend on the adjacent periods.
    fileprivate mutating func setPlace(in timeline: Timeline) {
        let period = timeline.periods.first {
            $0.payment.transaction == transaction && $0.from == from
        }
        guard let period else { return }
        number = timeline.number(of: period)
        isConversion = timeline.convertsFreePeriod(period)
    }
}
