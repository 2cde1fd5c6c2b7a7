import Ledger

/// A view that operators read, with its columns in order.
package struct ExportedTable: Hashable, Sendable {
    package var name: String
    package var columns: [String]
    /// The column that is compared with `since`. Rows with an earlier time in this column are left
    /// out.
    package var sinceColumn: String
    /// The subject of the table's rows: purchases or customers.
    fileprivate var subject = Subject.purchase
    /// The columns that order the rows of one subject.
    fileprivate var order = ["transaction_id"]

    fileprivate enum Subject: String {
        case purchase = "original_transaction_id"
        case customer = "customer_id"
    }

    /// The SQL condition of the rows that are included. `$5` is the time.
    fileprivate var since: String {
        switch name {
        case "movements": "(known_at >= $5 OR replaced_at >= $5)"
        case "entitlements": "(expires_at >= $5 OR expires_at IS NULL)"
        default: "\(sinceColumn) >= $5"
        }
    }

    package static let all = [
        ExportedTable(
            name: "subscriptions",
            columns: [
                "app", "customer_id", "environment", "original_transaction_id", "transaction_id",
                "product_id", "subscription_group", "state", "expires_at", "changes_at",
                "will_renew", "renews_to", "grace_until", "price_milliunits", "currency",
                "storefront", "offer_kind", "offer_id", "ownership", "period_began_at",
                "period_ends_at", "first_paid_at", "ended_because", "seats", "seats_at_renewal",
            ], sinceColumn: "period_began_at"),
        ExportedTable(
            name: "transactions",
            columns: [
                "app", "customer_id", "environment", "original_transaction_id", "transaction_id",
                "order_line_id", "product_id", "subscription_group", "kind", "terms", "ownership",
                "quantity", "is_renewal", "storefront", "offer_kind", "offer_id", "purchased_at",
                "expires_at", "ended_at", "currency", "price_milliunits", "tax_milliunits",
                "commission_thousandths_of_percent", "commission_milliunits",
                "proceeds_milliunits", "refunded_milliunits", "refunded_at", "seats",
                "price_tiers", "revoked_seats",
            ], sinceColumn: "purchased_at"),
        ExportedTable(
            name: "customer_summaries",
            columns: [
                "app", "environment", "customer_id", "currency", "transactions",
                "first_purchased_at", "last_purchased_at", "price_milliunits",
                "refunded_milliunits",
            ], sinceColumn: "last_purchased_at", subject: .customer, order: ["currency"]),
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
                "seats",
            ], sinceColumn: "known_at"),
        ExportedTable(
            name: "entitlements",
            columns: [
                "app", "environment", "customer_id", "entitlement", "state", "is_active",
                "expires_at", "changes_at", "will_renew", "product_id", "original_transaction_id",
                "grant_id",
            ], sinceColumn: "expires_at", subject: .customer, order: ["entitlement"]),
        ExportedTable(
            name: "wallet_entries",
            columns: [
                "app", "environment", "customer_id", "currency", "number", "occurred_at", "kind",
                "transaction_id", "product_id", "debit_id", "reason", "amount", "balance",
                "credit_id",
            ], sinceColumn: "occurred_at", subject: .customer, order: ["currency", "number"]),
    ]

    package static func named(_ name: String) -> ExportedTable? { all.first { $0.name == name } }
}

extension SaleRows {
    /// The number of purchases or customers whose rows are read at once.
    private static let exportBatch = 500

    /// Reads the rows of the next purchases or customers.
    ///
    /// - Parameters:
    ///   - last: the purchase or customer after which to continue; empty for the first.
    ///   - since: leaves out rows from before this time, in RFC 3339; nil includes all rows.
    /// - Returns: the rows, and the last purchase or customer that was read; nil if none is left.
    package func exportedRows(
        of table: ExportedTable, in app: AppID, _ environment: Environment, after last: String,
        since: String?
    ) throws(StorageFailure) -> (rows: [Row], last: String?) {
        let key: [Value] = [.text(app.rawValue), .text(environment.rawValue), .text(last)]
        let end =
            switch table.subject {
            case .purchase: try lastExportedPurchase(key)
            case .customer:
                try tx.customers.all(
                    of: app, after: CustomerID(rawValue: last), limit: Self.exportBatch
                ).last?.rawValue
            }
        guard let end else { return ([], nil) }
        let subject = table.subject.rawValue
        let order =
            ([subject] + (table.subject == .purchase ? [table.sinceColumn] : []) + table.order)
            .joined(separator: ", ")
        let condition = since == nil ? "" : "AND \(table.since) "
        let rows = try connection.rows(
            "SELECT \(table.columns.joined(separator: ", ")) FROM \(table.name) "
                + "WHERE app = $1 AND environment = $2 AND \(subject) > $3 "
                + "AND \(subject) <= $4 \(condition)ORDER BY \(order)",
            key + [.text(end)] + (since.map { [.text($0)] } ?? []))
        return (rows, end)
    }

    /// The last of the purchases that are read at once; nil if none is left.
    ///
    /// - Parameter key: app, environment, and the purchase after which to continue.
    func lastExportedPurchase(_ key: [Value]) throws(StorageFailure) -> String? {
        try connection.texts(
            "SELECT purchase FROM purchases WHERE app = $1 AND environment = $2 "
                + "AND purchase > $3 ORDER BY purchase LIMIT \(Self.exportBatch)", key
        ).last
    }
}
