import Ledger

/// A view that owners read, with its columns in order.
package struct ExportedTable: Hashable, Sendable {
    package var name: String
    package var columns: [String]
    /// The column that `since` compares: rows whose time there is earlier are left out.
    package var sinceColumn: String

    /// The condition of a row that is not left out; `$5` is the time.
    fileprivate var since: String {
        columns.contains("replaced_at")
            ? "(\(sinceColumn) >= $5 OR replaced_at >= $5)" : "\(sinceColumn) >= $5"
    }

    package static let all = [
        ExportedTable(
            name: "subscriptions",
            columns: [
                "app", "customer_id", "environment", "original_transaction_id", "transaction_id",
                "product_id", "subscription_group", "state", "expires_at", "changes_at",
                "will_renew", "renews_to", "grace_until", "price_milliunits", "currency",
                "storefront", "offer_kind", "offer_id", "ownership", "period_began_at",
                "period_ends_at", "first_paid_at", "ended_because",
            ], sinceColumn: "period_began_at"),
        ExportedTable(
            name: "transactions",
            columns: [
                "app", "customer_id", "environment", "original_transaction_id", "transaction_id",
                "order_line_id", "product_id", "subscription_group", "kind", "terms", "ownership",
                "quantity", "is_renewal", "storefront", "offer_kind", "offer_id", "purchased_at",
                "expires_at", "ended_at", "currency", "price_milliunits", "tax_milliunits",
                "commission_thousandths_of_percent", "commission_milliunits",
                "proceeds_milliunits", "refunded_milliunits", "refunded_at",
            ], sinceColumn: "purchased_at"),
        ExportedTable(
            name: "movements",
            columns: [
                "app", "environment", "original_transaction_id", "transaction_id", "kind",
                "occurred_at", "known_at", "replaced_at", "product_id", "subscription_group",
                "storefront", "offer_kind", "offer_id", "currency", "gross_milliunits",
                "refunded_milliunits", "tax_milliunits", "commission_milliunits",
                "mrr_milliunits", "payments", "active", "trials", "grace", "retry",
                "not_renewing", "mrr_tax_milliunits", "mrr_commission_milliunits",
                "mrr_of_four_weeks_milliunits", "contracted_milliunits", "promised_milliunits",
            ], sinceColumn: "known_at"),
    ]

    package static func named(_ name: String) -> ExportedTable? { all.first { $0.name == name } }
}

extension DatabaseSession {
    /// The number of purchases whose rows are read at once.
    private static let exportBatch = 500

    /// Reads the rows of the next purchases.
    ///
    /// - Parameters:
    ///   - last: the purchase after which to go on; empty for the first.
    ///   - since: RFC 3339 text; nil for all rows.
    /// - Returns: the rows, and the last purchase that was read; nil if none is left.
    package func exportedRows(
        of table: ExportedTable, in app: AppID, _ environment: Environment, after last: String,
        since: String?
    ) throws(StorageFailure) -> (rows: [Row], last: String?) {
        let key: [Value] = [.text(app.rawValue), .text(environment.rawValue), .text(last)]
        guard let end = try lastExportedPurchase(key) else { return ([], nil) }
        let condition = since == nil ? "" : "AND \(table.since) "
        let rows = try connection.rows(
            "SELECT \(table.columns.joined(separator: ", ")) FROM \(table.name) "
                + "WHERE app = $1 AND environment = $2 AND original_transaction_id > $3 "
                + "AND original_transaction_id <= $4 \(condition)"
                + "ORDER BY original_transaction_id, \(table.sinceColumn), transaction_id",
            key + [.text(end)] + (since.map { [.text($0)] } ?? []))
        return (rows, end)
    }

    /// The last of the purchases that are read at once; nil if none is left.
    ///
    /// - Parameter key: app, environment, and the purchase after which to go on.
    func lastExportedPurchase(_ key: [Value]) throws(StorageFailure) -> String? {
        try connection.rows(
            "SELECT purchase FROM purchases WHERE app = $1 AND environment = $2 "
                + "AND purchase > $3 ORDER BY purchase LIMIT \(Self.exportBatch)", key
        ).last?.text(0)
    }
}
