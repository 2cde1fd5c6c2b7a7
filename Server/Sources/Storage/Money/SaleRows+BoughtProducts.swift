import Ledger

/// The purchases of a product that have not ended: their number, and the time of the first.
package struct BoughtProduct: Hashable, Sendable {
    package var product: ProductID
    /// The number of purchases that have not ended, among the newest ``newestMax`` transactions.
    package var purchases: Int
    /// When the first of these purchases was bought.
    package var since: Instant

    /// The maximum number of a product's transactions that are examined.
    package static let newestMax = 1_000
}

extension SaleRows {
    /// The products of an app that were bought and have not ended, ordered by id.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of products that are examined.
    ///   - isWanted: whether a product of a kind is counted.
    package func boughtProducts(
        of app: AppID, in environment: Environment, at now: Instant, limit: Int,
        where isWanted: (ProductID, ProductKind) -> Bool
    ) throws(StorageFailure) -> [BoughtProduct] {
        var found: [BoughtProduct] = []
        var last = ""
        for _ in 0..<limit {
            // One look-up in the index for each product, instead of reading every transaction.
            let next = try connection.firstRow(
                "SELECT product, kind FROM money_transactions WHERE app = $1 "
                    + "AND environment = $2 AND product > $3 ORDER BY product LIMIT 1",
                [.text(app.rawValue), .text(environment.rawValue), .text(last)]
            ) { row throws(StorageFailure) in
                (product: try row.product(), kind: ProductKind(word: try row.text()))
            }
            guard let (product, kind) = next else { return found }
            last = product.rawValue
            guard isWanted(product, kind) else { continue }
            if let bought = try boughtProduct(product, of: app, in: environment, at: now) {
                found.append(bought)
            }
        }
        return found
    }

    private func boughtProduct(
        _ product: ProductID, of app: AppID, in environment: Environment, at now: Instant
    ) throws(StorageFailure) -> BoughtProduct? {
        try connection.firstRow(
            "SELECT count(DISTINCT purchase), min(from_ms) FROM ("
                + "SELECT purchase, from_ms, ended_at_ms FROM money_transactions WHERE app = $1 "
                + "AND environment = $2 AND product = $3 ORDER BY from_ms DESC LIMIT $4"
                + ") AS newest WHERE ended_at_ms IS NULL OR ended_at_ms > $5",
            [
                .text(app.rawValue), .text(environment.rawValue), .text(product.rawValue),
                .integer(Int64(BoughtProduct.newestMax)), .integer(now.milliseconds),
            ]
        ) { row throws(StorageFailure) in
            let (purchases, since) = (try row.count(), try row.optionalInstant())
            return since.map { BoughtProduct(product: product, purchases: purchases, since: $0) }
        } ?? nil
    }
}
