import Ledger

/// Finds the last event of each purchase whose row no longer contains the last reported state.
/// Events have no index by purchase, so an app's log is scanned once, when the first such event is
/// needed.
package struct LastEvents {
    private var sequences: [AppID: [PurchaseID: Int64]] = [:]

    package init() {}

    mutating func event(
        of purchase: PurchaseID, in app: AppID, _ tx: DatabaseSession
    ) throws(StorageFailure) -> LoggedEvent? {
        let known: [PurchaseID: Int64]
        if let read = sequences[app] {
            known = read
        } else {
            known = try tx.events.lastSequences(in: app)
            sequences[app] = known
        }
        guard let number = known[purchase] else { return nil }
        return try tx.events.find(number, of: app)
    }
}

extension EventLog {
    fileprivate func lastSequences(in app: AppID) throws(StorageFailure) -> [PurchaseID: Int64] {
        var numbers: [PurchaseID: Int64] = [:]
        try connection.eachRow(
            "SELECT environment, purchase, max(sequence) FROM events "
                + "WHERE app = $1 AND purchase IS NOT NULL AND NOT EXISTS "
                + "(SELECT 1 FROM purchases WHERE purchases.app = events.app "
                + "AND purchases.environment = events.environment "
                + "AND purchases.purchase = events.purchase "
                + "AND purchases.reported_state IS NOT NULL) "
                + "GROUP BY environment, purchase", [.text(app.rawValue)]
        ) { row throws(StorageFailure) in
            let purchase = try row.purchase()
            numbers[purchase] = try row.integer()
        }
        return numbers
    }
}
