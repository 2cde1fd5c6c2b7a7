import Ledger

/// Stored rows that differ from what the documents, or the log, imply.
package struct Differences: Hashable, Sendable {
    /// The maximum number of differences that are described; further differences are only counted.
    package static let firstMax = 20

    package private(set) var count = 0
    /// Descriptions of the first differences.
    package private(set) var first: [String] = []

    mutating func add(_ sentences: [String]) {
        count += sentences.count
        first += sentences.prefix(Self.firstMax - first.count)
    }

    package static func + (one: Self, other: Self) -> Self {
        var sum = one
        sum.count += other.count
        sum.first += other.first.prefix(firstMax - sum.first.count)
        return sum
    }
}

/// The facts that a rebuild derives. These facts are stored in a second table, beside the facts in
/// use.
package struct Rebuild: RowGroup {
    package let tx: DatabaseSession
}

// A rebuild fills a second table of facts, and then either compares the two tables, or replaces the
// facts in use with the rebuilt facts.
extension Rebuild {
    private static let rebuilt = Schema.rebuiltFacts

    /// Blocks writers until this transaction ends, so that new documents do not arrive faster than
    /// the rebuild can process them. This must be the first call in the transaction.
    package func blockWriters() throws(StorageFailure) {
        let held = [
            "recordings", "documents", "facts", Self.rebuilt, "consumption_questions", "purchases",
            "logs",
            "pending_events", "money_fills", "money_sum_fills",
        ]
        for statement in dialect.lockTables(held) { try connection.run(statement, []) }
    }

    /// Empties the table of rebuilt facts, which an interrupted rebuild may have filled.
    package func begin() throws(StorageFailure) {
        try finish()
    }

    package func finish() throws(StorageFailure) {
        try connection.run(dialect.truncateTable(Self.rebuilt), [])
    }

    /// Inserts rebuilt facts. Returns how many of the facts are new.
    @discardableResult
    package func add(
        _ facts: [Fact], from document: StoredDocument
    ) throws(StorageFailure) -> Int {
        try tx.facts.insert([DocumentWithFacts(document, facts)], into: Self.rebuilt)
    }

    /// Copies the facts in use of documents that were received since a time, unless the rebuild
    /// already contains facts of these documents. Returns how many it copied.
    package func copyFacts(ofArrivedSince since: Instant) throws(StorageFailure) -> Int {
        try connection.run(
            "INSERT INTO \(Self.rebuilt) SELECT facts.* FROM facts "
                + "JOIN documents ON documents.app = facts.app "
                + "AND documents.signed_at_ms = facts.document_signed_at_ms "
                + "AND documents.id = facts.document WHERE documents.received_at_ms >= $1 "
                + "AND NOT EXISTS (SELECT 1 FROM \(Self.rebuilt) AS known "
                + "WHERE known.app = facts.app AND known.environment = facts.environment "
                + "AND known.purchase = facts.purchase AND known.document = facts.document)",
            [.integer(since.milliseconds)])
    }

    /// The number of rebuilt facts. If this is not the expected number, another rebuild is running.
    package func rebuiltCount() throws(StorageFailure) -> Int {
        Int(try connection.number("SELECT count(*) FROM \(Self.rebuilt)"))
    }

    /// The number of documents that have facts in use, but would have none after the swap.
    package func documentsLeftWithoutFacts() throws(StorageFailure) -> Int {
        Int(
            try connection.number(
                "SELECT count(*) FROM (SELECT app, document FROM facts EXCEPT "
                    + "SELECT app, document FROM \(Self.rebuilt)) AS lost"))
    }

    /// Replaces the facts in use with the rebuilt facts. The rebuilt rows stay, so that the
    /// operation can be repeated: call ``finish()`` in a separate transaction afterwards.
    package func replaceFacts() throws(StorageFailure) {
        try connection.run("DELETE FROM facts", [])
        try connection.run("INSERT INTO facts SELECT * FROM \(Self.rebuilt)", [])
    }

    private static let withoutFacts =
        "NOT EXISTS (SELECT 1 FROM facts WHERE facts.app = purchases.app "
        + "AND facts.environment = purchases.environment "
        + "AND facts.purchase = purchases.purchase)"

    /// The purchases that no document attests any more, ordered by key.
    package func purchasesWithoutFacts() throws(StorageFailure) -> [ReportedPurchase] {
        try connection.rows(
            "SELECT purchases.app, purchases.environment, purchases.purchase, "
                + "\(PurchaseRows.reportedColumns) FROM \(PurchaseRows.purchasesWithOwners) "
                + "WHERE \(Self.withoutFacts) "
                + "ORDER BY purchases.app, purchases.environment, purchases.purchase", []
        ) { row throws(StorageFailure) in
            let app = try row.app()
            let nothing = Timeline(of: try row.purchase(), [])
            return try PurchaseRows.reportedPurchase(
                nothing.purchase, in: app, &row, orAs: nothing)
        }
    }

    /// Deletes the purchases that no document attests any more.
    package func deletePurchasesWithoutFacts() throws(StorageFailure) {
        try connection.run("DELETE FROM purchases WHERE \(Self.withoutFacts)", [])
    }

    /// Compares stored rows with the rows that the documents imply.
    package func differences() throws(StorageFailure) -> Differences {
        var differences = Differences()
        differences.add(try missing(in: "facts", of: Self.rebuilt).map { "fact missing: \($0)" })
        differences.add(
            try missing(in: Self.rebuilt, of: "facts").map { "fact without document: \($0)" })
        var purchases = 0
        var hasMoney: [AppID: Bool] = [:]
        try eachRebuiltTimeline { (app, timeline) throws(StorageFailure) in
            purchases += 1
            let stored = try tx.purchases.storedTimeline(of: timeline.purchase, in: app)
            if stored != timeline.stored {
                differences.add(["purchase differs: \(app) \(timeline.purchase)"])
            }
            if hasMoney[app] == nil { hasMoney[app] = try tx.money.isComplete(of: app) }
            if hasMoney[app] == true {
                differences.add(try tx.consistency.moneyDifferences(of: timeline.purchase, in: app))
            }
        }
        for app in hasMoney.keys.sorted() {
            differences.add(try tx.consistency.sumDifferences(of: app))
        }
        let present = Int(try connection.number("SELECT count(*) FROM purchases"))
        if present != purchases {
            differences.add(["\(present) purchases stored, \(purchases) expected"])
        }
        return differences
    }

    private func missing(in table: String, of other: String) throws(StorageFailure) -> [String] {
        try connection.rows(
            "SELECT app, environment, purchase, attested_at_ms, subject FROM "
                + "(SELECT * FROM \(other) EXCEPT SELECT * FROM \(table)) AS missing "
                + "ORDER BY 1, 2, 3, 4, 5", []
        ) { row throws(StorageFailure) in
            let (app, environment, purchase) = (try row.text(), try row.text(), try row.text())
            let at = try row.instant()
            try row.skip()
            return "\(app) \(environment):\(purchase) attested \(at)"
        }
    }

    /// Projects the rebuilt facts into a timeline for each purchase, ordered by key.
    package func eachRebuiltTimeline(
        _ body: (AppID, Timeline) throws(StorageFailure) -> Void
    ) throws(StorageFailure) {
        var last: [Value] = [.text(""), .text(""), .text("")]
        while true {
            let keys = try connection.rows(
                "SELECT app, environment, purchase FROM \(Self.rebuilt) "
                    + "WHERE (app, environment, purchase) > ($1, $2, $3) "
                    + "ORDER BY app, environment, purchase LIMIT 1", last)
            guard let key = keys.first else { return }
            last = key.values
            let (app, purchase) = try key.read { row throws(StorageFailure) in
                (try row.app(), try row.purchase())
            }
            let facts = try connection.rows(
                "SELECT attested_at_ms, statement FROM \(Self.rebuilt) "
                    + "WHERE app = $1 AND environment = $2 AND purchase = $3", last
            ) { row throws(StorageFailure) in try FactRows.fact(&row, about: purchase) }
            try body(app, Timeline(of: purchase, facts))
        }
    }
}
