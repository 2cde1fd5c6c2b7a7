import Ledger

extension SaleRows {
    /// The maximum number of documents of one transaction that are read.
    private static let documentsMax = 3
    private static let selectLatestDocuments =
        "SELECT document, document_signed_at_ms FROM facts WHERE app = $1 "
        + "AND environment = 'production' AND purchase = $2 AND subject = $3 "
        + "ORDER BY attested_at_ms DESC, document LIMIT \(documentsMax)"

    /// The last documents that describe the transactions of sales, the latest first.
    package func latestDocuments(
        of sales: some Collection<TransactionSale>, in app: AppID
    ) throws(StorageFailure) -> [(sale: TransactionSale, documents: [StoredDocument])] {
        let keys = sales.map { sale -> [Value] in
            [.text(app.rawValue), .text(sale.purchase), .text(sale.transaction.rawValue)]
        }
        var found: [(TransactionSale, [StoredDocument])] = []
        let rows = try connection.rowsEach(Self.selectLatestDocuments, keys)
        for (sale, rows) in zip(sales, rows) {
            var documents: [StoredDocument] = []
            for row in rows {
                let document = try row.read { row throws(StorageFailure) in
                    try tx.documents.find(try row.bytes(), signedAt: try row.instant(), of: app)
                }
                if let document { documents.append(document) }
            }
            found.append((sale, documents))
        }
        return found
    }
}
