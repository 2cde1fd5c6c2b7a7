/// The kind of an import file.
enum ImportKind: String, CaseIterable, Sendable {
    /// App receipts, or transaction receipts, in Base64.
    case receipts
    /// The ids of the original transactions of purchases.
    case originalTransactionIDs = "original-transaction-ids"
    /// The transactions of RevenueCat's "Scheduled Data Exports".
    case revenueCat = "revenuecat-export"
    /// The events that Adapty exports to a bucket.
    case adapty
    /// The events that Apphud exports to a bucket ("ETL Exports").
    case apphud

    /// The columns to read, with the names under which each may appear.
    var columns: [ImportColumn: [String]] {
        switch self {
        case .receipts:
            [
                .customer: ["customer_id"],
                .receipt: ["app_receipt", "receipt", "receipt_data", "transaction_receipt"],
            ]
        case .originalTransactionIDs:
            [.customer: ["customer_id"], .number: ["original_transaction_id"]]
        case .revenueCat:
            [
                .customer: ["rc_last_seen_app_user_id_alias"],
                .alias: ["rc_original_app_user_id"], .number: ["original_store_transaction_id"],
                .store: ["store"], .isSandbox: ["is_sandbox"],
                .transaction: ["store_transaction_id"], .product: ["product_identifier"],
                .start: ["start_time"], .end: ["end_time"],
                .effectiveEnd: ["effective_end_time"], .refunded: ["refunded_at"],
                .entitlements: ["entitlement_identifiers"], .placement: ["presented_offering"],
                .reservedAttributes: ["reserved_subscriber_attributes"],
                .attributes: ["custom_subscriber_attributes"], .updatedAt: ["updated_at"],
                .firstSeen: ["first_seen_time"],
            ]
        case .adapty:
            [
                .customer: ["customer_user_id", "user_id"],
                .number: ["original_transaction_id", "apple_original_transaction_id"],
                .store: ["store"], .environment: ["environment"],
                .transaction: ["transaction_id"], .placement: ["developer_id"],
                .attributes: ["attributes"], .idfa: ["idfa"], .idfv: ["idfv"],
                .updatedAt: ["event_datetime"], .firstSeen: ["install_date", "created_at"],
            ]
        case .apphud:
            [
                .customer: ["user_id"], .number: ["original_transaction_id"],
                .store: ["store"], .environment: ["environment"],
            ]
        }
    }

    /// The column without which no row can be used.
    var evidenceColumn: ImportColumn { self == .receipts ? .receipt : .number }

    /// The name of the column with the customer id.
    var customerColumn: String { columns[.customer]?.first ?? "" }

    /// The possible orders of the columns if the first line is not a header.
    var usualColumns: [[ImportColumn]] {
        switch self {
        case .receipts: [[.receipt], [.customer, .receipt]]
        case .originalTransactionIDs: [[.number], [.customer, .number]]
        case .revenueCat, .adapty, .apphud: []
        }
    }
}

/// What a column of an import file is about.
enum ImportColumn: Hashable, Sendable {
    case customer
    case alias
    case receipt
    /// The id of the purchase's first transaction.
    case number
    /// The id of the row's own transaction.
    case transaction
    case store
    case environment
    case isSandbox
    case product
    case start
    case end
    /// When access really ends, according to the vendor.
    case effectiveEnd
    case refunded
    case entitlements
    case placement
    case reservedAttributes
    case attributes
    case idfa
    case idfv
    case updatedAt
    case firstSeen
}
