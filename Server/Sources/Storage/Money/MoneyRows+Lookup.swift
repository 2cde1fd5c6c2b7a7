import Ledger

extension MoneyRows {
    /// The maximum number of rows that one step of the search reads.
    private static let lookupRowsMax = 10_000

    /// The known transactions among the given ones. It does not matter which customer has their
    /// purchases. Reads all transactions of the app once, because there is no index by transaction.
    /// Call this function for a few searches, not for each request.
    package func known(
        _ sought: Set<TransactionID>, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> Set<TransactionID> {
        var found: Set<TransactionID> = []
        var last = (purchase: "", number: Int64(-1))
        while !sought.isEmpty, found.count < sought.count {
            let rows = try connection.rows(
                "SELECT purchase, number, transaction_id FROM money_transactions WHERE app = $1 "
                    + "AND environment = $2 AND (purchase, number) > ($3, $4) "
                    + "ORDER BY purchase, number LIMIT $5",
                [
                    .text(app.rawValue), .text(environment.rawValue), .text(last.purchase),
                    .integer(last.number), .integer(Int64(Self.lookupRowsMax)),
                ]
            ) { row throws(StorageFailure) in
                (purchase: try row.text(), number: try row.integer(), id: try row.text())
            }
            guard let end = rows.last else { break }
            last = (end.purchase, end.number)
            found.formUnion(rows.map { TransactionID(rawValue: $0.id) }.filter(sought.contains))
        }
        return found
    }
}
