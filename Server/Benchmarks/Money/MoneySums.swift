import Storage

/// The sums by day and by month, for a database that no server has filled.
enum MoneySums {
    /// The number of purchases that are added up at once. A server adds up fewer purchases at once,
    /// because it also has other writes.
    private static let purchasesAtOnce = 20_000

    /// Marks all rows of money as derived, and adds them up.
    static func addUp(in store: Database) async throws {
        try await store.transaction { try $0.money.beginFill(of: SyntheticSales.app) }
        _ = try await store.driver.write {
            try $0.run("UPDATE money_fills SET purchase = NULL WHERE app = 'birds'", [])
        }
        var added = 0
        while true {
            let count = try await store.addUpMoney(
                of: SyntheticSales.app, purchases: purchasesAtOnce)
            guard count > 0 else { break }
            added += count
            Progress.report("  movements of \(added) purchases added up")
        }
    }
}
