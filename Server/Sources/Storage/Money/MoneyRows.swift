import Ledger
import Reports

/// The rows about money that follow from a purchase's facts, all together.
extension DatabaseSession {
    /// Writes what documents change in the rows of one purchase.
    ///
    /// - Parameters:
    ///   - before: the timeline before the documents.
    ///   - after: the same purchase with them, and what is reported of it.
    ///   - documents: the documents, in the order in which they are recorded. Their facts are
    ///     stored already.
    func recordMoney(
        from before: Timeline, to after: ReportedPurchase, by documents: [DocumentWithFacts]
    ) throws(StorageFailure) {
        let (app, purchase) = (after.app, after.timeline.purchase)
        guard purchase.appTransaction == nil else { return }
        let rules = rules.money(of: app)
        let lines = PurchaseBooks(of: after.timeline, [], rules: rules).transactions
        try upsertTransactions(
            lines, before: PurchaseBooks(of: before, [], rules: rules).transactions, of: purchase,
            in: app)
        var history = MovementHistory(versions: try movementVersions(of: purchase, in: app))
        for (receivedAt, facts) in try factSteps(of: purchase, through: documents, in: app) {
            guard history.lastChange.map({ $0 <= receivedAt }) ?? true else {
                // Another server, whose clock is ahead, has recorded something.
                return try rebuildMoney(of: purchase, in: app)
            }
            let books = PurchaseBooks(of: purchase, facts, rules: rules)
            let change = MovementHistory.Change(from: history, to: books.movements, at: receivedAt)
            try record(change, of: purchase, in: app)
            history.apply(change)
        }
    }

    /// The facts about a purchase as they were known after each document, with the moment when the
    /// document was received. Nearly always there is one document.
    private func factSteps(
        of purchase: PurchaseID, through documents: [DocumentWithFacts], in app: AppID
    ) throws(StorageFailure) -> [(Instant, [Fact])] {
        let rows = try connection.rows(
            "SELECT attested_at_ms, statement, document FROM facts WHERE app = $1 "
                + "AND environment = $2 AND purchase = $3", Self.key(of: purchase, in: app))
        var facts: [(document: [UInt8], fact: Fact)] = []
        for row in rows { facts.append((try row.bytes(2), try Self.fact(row, about: purchase))) }
        return documents.indices.compactMap { index in
            let receivedAt = documents[index].document.receivedAt
            let rest = documents[(index + 1)...].map(\.document)
            guard rest.first?.receivedAt != receivedAt else { return nil }
            let later = Set(rest.map(\.id))
            return (receivedAt, facts.filter { !later.contains($0.document) }.map(\.fact))
        }
    }

    /// Derives all rows of a purchase again, with what was known at every earlier moment.
    ///
    /// - Parameter known: what is reported of the purchase now; nil to leave its subscription's row
    ///   as it is.
    func rebuildMoney(of purchase: PurchaseID, in app: AppID) throws(StorageFailure) {
        guard purchase.appTransaction == nil else { return }
        let rules = rules.money(of: app)
        let sources = try facts(about: purchase, in: app)
        let history = MovementHistory(of: purchase, Self.documents(of: sources), rules: rules)
        let books = PurchaseBooks(of: purchase, sources.map(\.fact), rules: rules)
        try upsertTransactions(books.transactions, before: nil, of: purchase, in: app)
        try replaceMovements(of: purchase, by: history, in: app)
        if let reported = try reportedPurchase(purchase, in: app) {
            try upsertSubscriptions([reported])
        }
    }

    private static func documents(
        of sources: [FactWithSource]
    ) -> [(receivedAt: Instant, facts: [Fact])] {
        Dictionary(grouping: sources, by: \.receivedAt).sorted { $0.key < $1.key }
            .map { ($0.key, $0.value.map(\.fact)) }
    }

    /// Deletes the rows of purchases that no document attests any more.
    func deleteMoneyWithoutFacts() throws(StorageFailure) {
        for table in ["money_transactions", "money_movements", "money_subscriptions"] {
            try connection.run(
                "DELETE FROM \(table) WHERE NOT EXISTS (SELECT 1 FROM purchases "
                    + "WHERE purchases.app = \(table).app "
                    + "AND purchases.environment = \(table).environment "
                    + "AND purchases.purchase = \(table).purchase)", [])
        }
    }

    /// Sentences about rows that differ from what the facts imply.
    func moneyDifferences(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [String] {
        guard purchase.appTransaction == nil else { return [] }
        let history = MovementHistory(
            of: purchase, Self.documents(of: try facts(about: purchase, in: app)),
            rules: rules.money(of: app))
        let stored = try movementVersions(of: purchase, in: app)
        guard Set(stored) != Set(history.versions) else { return [] }
        return ["movements differ: \(app) \(purchase)"]
    }
}
