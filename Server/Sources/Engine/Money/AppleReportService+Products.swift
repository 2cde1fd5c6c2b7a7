import AppStoreFormats
import Ledger
import Storage

extension AppleReportService {
    /// The maximum number of sales whose documents are read to find out which items were sold.
    private static let itemSalesMax = 20_000
    private static let itemSalesAtOnce = 500

    /// Determines which products the rows of reports are about. The documents of sales are read
    /// only if a row lists items, because only documents say which product an item belongs to. An
    /// item may have the id of another product.
    ///
    /// - Parameter known: products that are known without documents.
    func products(
        known: Set<ProductID>, named skus: Set<String>, soldIn sales: [TransactionSale],
        of app: AppID
    ) async throws(EngineFailure) -> ReportProducts {
        var products = ReportProducts(known.union(sales.map(\.product)))
        guard skus.contains(where: { ReportProducts.items(of: $0) != nil }) else { return products }
        let read = sales.prefix(Self.itemSalesMax)
        for start in stride(from: 0, to: read.count, by: Self.itemSalesAtOnce) {
            let some = read[start..<min(start + Self.itemSalesAtOnce, read.count)]
            let found = try await self.context.read { tx in
                try tx.sales.latestDocuments(of: some, in: app)
            }
            for (sale, documents) in found {
                let items = documents.lazy.compactMap { $0.items(of: sale.transaction) }.first
                if let items { products.add(items: items, of: sale.product) }
            }
        }
        return products
    }
}

extension StoredDocument {
    /// The SKUs of the items of a transaction that was bought through the Advanced Commerce API.
    /// Returns nil if the document does not describe the transaction, or names no item.
    fileprivate func items(of transaction: TransactionID) -> [String]? {
        guard let json else { return nil }
        let described = json["data"]?["signedTransactionInfo"] ?? json
        guard described["transactionId"]?.string == transaction.rawValue,
            let items = described["advancedCommerceInfo"]?["items"]?.array
        else { return nil }
        let skus = items.compactMap { $0["SKU"]?.string }
        return skus.isEmpty ? nil : skus
    }
}
