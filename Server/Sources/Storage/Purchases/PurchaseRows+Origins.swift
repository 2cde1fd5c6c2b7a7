import Ledger

extension PurchaseRows {
    /// Records where transactions were bought. If a transaction is reported twice, the first report
    /// counts.
    package func insertOrigin(
        _ origin: PurchaseOrigin, of transactions: [(TransactionID, PurchaseID)], in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        guard !origin.isEmpty else { return }
        try connection.runEach(
            "INSERT INTO purchase_origins (app, environment, purchase, transaction_id, placement, "
                + "sdk, storefront, posted_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
                + "ON CONFLICT (app, environment, purchase, transaction_id) DO NOTHING",
            transactions.map { transaction, purchase in
                Self.key(of: purchase, in: app) + [
                    .text(transaction.rawValue), origin.placement.map { .text($0) } ?? .null,
                    origin.sdk.map { .text($0) } ?? .null,
                    origin.storefront.map { .text($0) } ?? .null, .integer(now.milliseconds),
                ]
            })
    }

    /// Where the transactions of a purchase were bought, as far as the app reported it.
    package func origins(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [TransactionID: PurchaseOrigin] {
        var origins: [TransactionID: PurchaseOrigin] = [:]
        try connection.eachRow(
            "SELECT transaction_id, placement, sdk, storefront FROM purchase_origins "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in
            let transaction = try row.transaction()
            origins[transaction] = PurchaseOrigin(
                placement: try row.optionalText(), sdk: try row.optionalText(),
                storefront: try row.optionalText())
        }
        return origins
    }
}
