import Ledger
import Reports

/// The transactions and subscriptions that reports are computed from, and their derivation.
package struct MoneyRows: RowGroup {
    package let tx: DatabaseSession
}

/// All rows about money that are derived from purchases' facts.
extension MoneyRows {
    private static let selectStatements =
        "SELECT attested_at_ms, statement FROM facts WHERE app = $1 AND environment = $2 "
        + "AND purchase = $3 AND subject "
    private static let selectRenewals = selectStatements + "= ''"
    private static let selectPayments = selectStatements + "<> ''"

    /// Writes the changes that documents make to the rows of purchases, table by table.
    package func record(_ changes: [MoneyProjection]) throws(StorageFailure) {
        let changes = changes.filter(\.mayChange)
        guard !changes.isEmpty, rules.writesMoney else { return }
        let keys = changes.map { PurchaseRows.key(of: $0.purchase, in: $0.app) }
        let renewals = try connection.rowsEach(Self.selectRenewals, keys)
        let stored = try self.stored(of: keys)
        let payments = try self.payments(changes, stored)
        let made = Array(changes.indices).concurrentMap { [rules] place in
            Result { () throws(StorageFailure) in
                let change = changes[place]
                return try change.rows(
                    renewals[place], payments[place], stored[place], rules.money(of: change.app))
            }
        }
        var rows: [MoneyProjection.Rows] = []
        for each in made { rows.append(try each.get()) }
        try write(rows)
    }

    /// The movements of purchases, which are read on several threads if there are many.
    private func stored(of keys: [[Value]]) throws(StorageFailure) -> [[StoredMovement]] {
        let read = try connection.rowsEach(MovementRows.selectVersions, keys).concurrentMap {
            rows in
            Result { () throws(StorageFailure) in try rows.read(StoredMovement.init) }
        }
        var stored: [[StoredMovement]] = []
        for each in read { stored.append(try each.get()) }
        return stored
    }

    /// The statements about the payments of purchases whose refunds may have been reversed.
    private func payments(
        _ changes: [MoneyProjection], _ stored: [[StoredMovement]]
    ) throws(StorageFailure) -> [[Row]] {
        var payments = [[Row]](repeating: [], count: changes.count)
        var places: [Int] = []
        for place in changes.indices
        where changes[place].mayHaveReversal(stored[place]) { places.append(place) }
        guard !places.isEmpty else { return payments }
        let keys = places.map { PurchaseRows.key(of: changes[$0].purchase, in: changes[$0].app) }
        for (place, rows) in zip(places, try connection.rowsEach(Self.selectPayments, keys)) {
            payments[place] = rows
        }
        return payments
    }

    private func write(_ rows: [MoneyProjection.Rows]) throws(StorageFailure) {
        try connection.runEach(Self.upsertTransaction, rows.flatMap(\.transactions))
        try connection.runEach(Self.deleteTransactions, rows.compactMap(\.transactionsEnd))
        try connection.runEach(MovementRows.deleteMovement, rows.flatMap(\.removed))
        try connection.runEach(MovementRows.replaceMovement, rows.flatMap(\.replaced))
        try connection.runEach(MovementRows.insertMovement, rows.flatMap(\.added))
        try connection.runEach(tx.sums.insertChanges, rows.compactMap(\.waiting))
    }

    /// Derives all rows of a purchase again. If the stored movements agree with all documents,
    /// their earlier versions stay unchanged. Otherwise all versions are derived from the times at
    /// which documents were received.
    ///
    /// - Parameter replacing: whether the movements are always written again, because the rules
    ///   have changed.
    package func rebuild(
        of purchase: PurchaseID, in app: AppID, replacing: Bool = false
    ) throws(StorageFailure) {
        guard purchase.appTransaction == nil else { return }
        let rules = rules.money(of: app)
        let sources = try tx.facts.all(about: purchase, in: app)
        let books = PurchaseBooks(of: purchase, sources.map(\.fact), rules: rules)
        let key = PurchaseRows.key(of: purchase, in: app)
        try connection.runEach(
            Self.upsertTransaction, Self.values(of: books.transactions, key, besides: nil))
        try connection.run(
            Self.deleteTransactions, key + [.integer(Int64(books.transactions.count))])
        let stored = try tx.movements.stored(of: purchase, in: app)
        let known = stored.filter { $0.version.replacedAt == nil }.map(\.version.movement)
        if replacing || Set(known) != Set(books.movements) {
            let history = MovementHistory(of: purchase, Self.documents(of: sources), rules: rules)
            try tx.movements.replace(of: purchase, stored, by: history, in: app)
        }
        if let reported = try tx.purchases.reported(purchase, in: app) {
            try upsertSubscriptions([reported])
        }
    }

    private static func documents(
        of sources: [FactWithSource]
    ) -> [(receivedAt: Instant, facts: [Fact])] {
        Dictionary(grouping: sources, by: \.receivedAt).sorted { $0.key < $1.key }
            .map { ($0.key, $0.value.map(\.fact)) }
    }

    /// Deletes the rows of purchases that no document attests any more. The sums must be computed
    /// again afterwards.
    package func deleteWithoutFacts() throws(StorageFailure) {
        for table in ["money_transactions", "money_movements", "money_subscriptions"] {
            try connection.run(
                "DELETE FROM \(table) WHERE NOT EXISTS (SELECT 1 FROM purchases "
                    + "WHERE purchases.app = \(table).app "
                    + "AND purchases.environment = \(table).environment "
                    + "AND purchases.purchase = \(table).purchase)", [])
        }
    }
}
