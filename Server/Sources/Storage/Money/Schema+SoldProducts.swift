extension Schema {
    /// Finds which products were bought, and the newest purchases of one.
    static let soldProductIndexes = [
        "CREATE INDEX money_transactions_by_product ON money_transactions "
            + "(app, environment, product, from_ms)"
    ]
}
