import Ledger
import Reports

/// A transaction with everything that the rows about money say of it, for other systems' formats.
package struct SoldTransaction: Hashable, Sendable {
    package var purchase: PurchaseID
    /// Counts the transactions of the purchase from 0.
    package var number: Int64
    package var transaction: TransactionID
    package var segment: Segment
    /// Words of the view `transactions`.
    package var kind: String
    package var terms: String
    package var ownership: String
    package var from: Instant
    package var until: Instant?
    package var endedAt: Instant?
    /// Thousandths of the currency's unit, like the following amounts.
    package var gross: Int64
    package var tax: Int64
    package var commission: Int64
    package var refunded: Int64
    package var refundedAt: Instant?
    /// Nil if it is linked to nobody.
    package var customer: CustomerID?
    /// The id that the customer got last.
    package var lastID: CustomerID?
    package var firstSeenAt: Instant?
    package var placement: String?
    package var graceUntil: Instant?
    package var troubleAt: Instant?
    package var renewalOffAt: Instant?
    package var renewalOnAt: Instant?
    /// When the last news about it was received.
    package var changedAt: Instant?
}

extension DatabaseSession {
    /// Reads the transactions of the next purchases: see ``exportedRows(of:in:_:after:since:)``.
    package func soldTransactions(
        in app: AppID, _ environment: Environment, after last: String, since: Instant?
    ) throws(StorageFailure) -> (transactions: [SoldTransaction], last: String?) {
        let key: [Value] = [.text(app.rawValue), .text(environment.rawValue), .text(last)]
        guard let end = try lastExportedPurchase(key) else { return ([], nil) }
        let rows = try connection.rows(
            Self.selectSold, key + [.text(end), .integer(since?.milliseconds ?? Int64.min)])
        let transactions = try rows.map { (row) throws(StorageFailure) in
            try SoldTransaction(row, in: environment)
        }
        return (transactions, end)
    }

    private static let selectSold: String = {
        let segment = SegmentColumns.names.map { "sold.\($0)" }.joined(separator: ", ")
        func movement(_ value: String, _ condition: String = "") -> String {
            "(SELECT \(value) FROM money_movements AS moved WHERE moved.app = sold.app "
                + "AND moved.environment = sold.environment AND moved.purchase = sold.purchase "
                + "AND moved.transaction_id = sold.transaction_id\(condition))"
        }
        func known(_ kinds: String) -> String {
            " AND moved.replaced_at_ms IS NULL AND moved.kind IN (\(kinds))"
        }
        return "SELECT sold.purchase, number, transaction_id, \(segment), kind, terms, ownership, "
            + "from_ms, until_ms, ended_at_ms, gross, tax, commission, refunded, refunded_at_ms, "
            + "links.customer, customers.created_at_ms, "
            + "(SELECT id FROM customer_ids AS ids WHERE ids.app = sold.app "
            + "AND ids.customer = links.customer ORDER BY since_ms DESC, id LIMIT 1), "
            + "(SELECT max(placement) FROM purchase_origins AS origin WHERE origin.app = sold.app "
            + "AND origin.environment = sold.environment AND origin.purchase = sold.purchase "
            + "AND origin.transaction_id = sold.transaction_id), "
            + movement("max(at_ms)", known("'grace_ended'")) + ", "
            + movement("min(at_ms)", known("'grace_started', 'retry_started'")) + ", "
            + movement("max(at_ms)", known("'renewal_off'")) + ", "
            + movement("max(at_ms)", known("'renewal_on'")) + ", "
            + movement("max(coalesce(replaced_at_ms, known_at_ms))")
            + " FROM money_transactions AS sold LEFT JOIN links ON links.app = sold.app "
            + "AND links.environment = sold.environment AND links.purchase = sold.purchase "
            + "LEFT JOIN customers ON customers.app = sold.app "
            + "AND customers.customer = links.customer "
            + "WHERE sold.app = $1 AND sold.environment = $2 AND sold.purchase > $3 "
            + "AND sold.purchase <= $4 AND (from_ms >= $5 OR refunded_at_ms >= $5) "
            + "ORDER BY sold.purchase, number"
    }()
}

extension SoldTransaction {
    fileprivate init(_ row: Row, in environment: Environment) throws(StorageFailure) {
        func moment(_ column: Int) throws(StorageFailure) -> Instant? {
            try row.optionalInteger(column).map { Instant(milliseconds: $0) }
        }
        let first = 3 + SegmentColumns.names.count
        purchase = PurchaseID(TransactionID(rawValue: try row.text(0)), in: environment)
        number = try row.integer(1)
        transaction = TransactionID(rawValue: try row.text(2))
        segment = try SegmentColumns.segment(row, at: 3)
        (kind, terms) = (try row.text(first), try row.text(first + 1))
        ownership = try row.text(first + 2)
        from = Instant(milliseconds: try row.integer(first + 3))
        (until, endedAt) = (try moment(first + 4), try moment(first + 5))
        (gross, tax) = (try row.integer(first + 6), try row.integer(first + 7))
        (commission, refunded) = (try row.integer(first + 8), try row.integer(first + 9))
        refundedAt = try moment(first + 10)
        customer = try row.optionalText(first + 11).map(CustomerID.init(rawValue:))
        firstSeenAt = try moment(first + 12)
        lastID = try row.optionalText(first + 13).map(CustomerID.init(rawValue:))
        placement = try row.optionalText(first + 14)
        (graceUntil, troubleAt) = (try moment(first + 15), try moment(first + 16))
        (renewalOffAt, renewalOnAt) = (try moment(first + 17), try moment(first + 18))
        changedAt = try moment(first + 19)
    }
}
