import Ledger

/// Transfers of purchases between customers, and confirmations.
package struct TransferRows: RowGroup {
    package let tx: DatabaseSession

    /// Records that support has ended a customer's share in a purchase.
    package func markSharesUndone(
        of purchase: PurchaseID, with customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE transfers SET undone_at_ms = $1 WHERE app = $2 AND environment = $3 "
                + "AND purchase = $4 AND customer = $5 AND kind = 'shared' "
                + "AND undone_at_ms IS NULL",
            [.integer(now.milliseconds)] + PurchaseRows.key(of: purchase, in: app)
                + [.text(customer.rawValue)])
    }

    /// Records that a transfer was undone.
    package func markUndone(
        _ transfer: StoredTransfer, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE transfers SET undone_at_ms = $1 WHERE app = $2 AND transfer = $3",
            [.integer(now.milliseconds), .text(app.rawValue), .integer(transfer.number)])
    }

    /// Deletes the transfers to and from an erased customer.
    ///
    /// If the customer shared a purchase that has another owner by now, the share still exists. The
    /// transfer of that share stays, without the former owner, so that the share can still be
    /// ended.
    package func delete(of customer: CustomerID, in app: AppID) throws(StorageFailure) {
        let owner: [Value] = [.text(app.rawValue), .text(customer.rawValue)]
        try connection.run(
            "UPDATE transfers SET former = NULL WHERE app = $1 AND former = $2 "
                + "AND kind = 'shared' AND EXISTS (SELECT 1 FROM shares "
                + "WHERE shares.app = transfers.app "
                + "AND shares.environment = transfers.environment "
                + "AND shares.purchase = transfers.purchase "
                + "AND shares.customer = transfers.customer)", owner)
        try connection.run(
            "DELETE FROM transfers WHERE app = $1 AND (customer = $2 OR former = $2)", owner)
    }

    /// An earlier confirmation by support with the same reason. Returns nil if there is no such
    /// confirmation, or if it is no longer in effect.
    package func confirmation(
        of purchase: PurchaseID, of customer: CustomerID, reason: String, in app: AppID
    ) throws(StorageFailure) -> StoredTransfer? {
        guard try tx.links.find(of: purchase, in: app)?.evidence == .support else { return nil }
        return try all(of: customer, in: app).last {
            $0.purchase == purchase && $0.customer == customer && $0.evidence == .support
                && $0.reason == reason && $0.undoneAt == nil
        }
    }

    /// All transfers to and from a customer, in order.
    package func all(
        of customer: CustomerID, in app: AppID
    ) throws(StorageFailure) -> [StoredTransfer] {
        var found: [StoredTransfer] = []
        for side in ["customer", "former"] {
            found += try connection.rows(
                "SELECT \(Self.transferColumns) FROM transfers WHERE app = $1 AND \(side) = $2",
                [.text(app.rawValue), .text(customer.rawValue)], Self.transfer)
        }
        return Set(found).sorted { $0.number < $1.number }
    }

    package func find(
        _ number: Int64, in app: AppID
    ) throws(StorageFailure) -> StoredTransfer? {
        try connection.rows(
            "SELECT \(Self.transferColumns) FROM transfers WHERE app = $1 AND transfer = $2",
            [.text(app.rawValue), .integer(number)], Self.transfer
        ).first
    }

    static let transferColumns =
        "transfer, environment, purchase, kind, former, customer, evidence, reason, at_ms, "
        + "undone_at_ms"

    private static func transfer(_ row: inout ColumnReader) throws(StorageFailure) -> StoredTransfer
    {
        let (number, purchase) = (try row.integer(), try row.purchase())
        let kind = StoredTransfer.Kind(rawValue: try row.text())
        let (former, customer) = (try row.optionalCustomer(), try row.customer())
        let evidence = OwnershipClaim.Evidence(rawValue: try row.text())
        guard let kind, let evidence else {
            throw StorageFailure("unknown kind of transfer: use a newer version of Perennial")
        }
        return StoredTransfer(
            number: number, purchase: purchase, kind: kind, former: former, customer: customer,
            evidence: evidence, reason: try row.text(), at: try row.instant(),
            undoneAt: try row.optionalInstant())
    }
}
