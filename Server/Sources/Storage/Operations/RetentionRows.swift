import Ledger

/// A sandbox purchase, as the decision needs it whether the purchase is deleted.
package struct AgedPurchase: Sendable {
    package var reported: ReportedPurchase
    /// When the purchase became known.
    package var knownAt: Instant
    /// When the next check with the App Store is due.
    package var checkDueAt: Instant
    /// When time alone changes the reported state. Nil if it never does.
    package var nextChangeAt: Instant?

    package var purchase: PurchaseID { reported.timeline.purchase }
}

/// The key of a document within an app.
package struct DocumentKey: Hashable, Sendable {
    package var signedAt: Instant
    package var id: [UInt8]
}

/// The deletion of sandbox purchases. Each statement names the sandbox itself, so that no argument
/// can make it reach a production purchase.
///
/// A document can be deleted only if the engine finds that no fact refers to it. The index for this
/// search costs time for each fact that is written, so it exists only in databases for which a
/// retention of test purchases is configured: see ``Database/createRetentionIndex()``.
package struct RetentionRows: RowGroup {
    package let tx: DatabaseSession

    private static let selectPurchases =
        "SELECT purchases.purchase, purchases.known_at_ms, purchases.due_at_ms, "
        + "purchases.next_change_at_ms, \(PurchaseRows.reportedColumns) "
        + "FROM \(PurchaseRows.purchasesWithOwners) WHERE purchases.app = $1 "
        + "AND purchases.environment = 'sandbox' AND purchases.purchase "

    /// The next sandbox purchases of an app, ordered by id.
    ///
    /// - Parameter last: the last purchase of the page before; empty for the first page.
    package func sandboxPurchases(
        of app: AppID, after last: TransactionID, limit: Int
    ) throws(StorageFailure) -> [AgedPurchase] {
        try connection.rows(
            Self.selectPurchases + "> $2 ORDER BY purchases.purchase LIMIT $3",
            [.text(app.rawValue), .text(last.rawValue), .integer(Int64(limit))]
        ) { row throws(StorageFailure) in try Self.aged(&row, in: app) }
    }

    /// A sandbox purchase. Returns nil if it is not stored.
    package func sandboxPurchase(
        _ original: TransactionID, of app: AppID
    ) throws(StorageFailure) -> AgedPurchase? {
        try connection.firstRow(
            Self.selectPurchases + "= $2", [.text(app.rawValue), .text(original.rawValue)]
        ) { row throws(StorageFailure) in try Self.aged(&row, in: app) }
    }

    private static func aged(
        _ row: inout ColumnReader, in app: AppID
    ) throws(StorageFailure) -> AgedPurchase {
        let purchase = PurchaseID(try row.transaction(), in: .sandbox)
        let (knownAt, dueAt) = (try row.instant(), try row.instant())
        let nextChangeAt = try row.optionalInstant()
        return AgedPurchase(
            reported: try PurchaseRows.reportedPurchase(purchase, in: app, &row),
            knownAt: knownAt, checkDueAt: dueAt, nextChangeAt: nextChangeAt)
    }

    /// When the last document about a sandbox purchase arrived that this server had not requested
    /// from the App Store. Returns nil if there is none.
    package func lastArrival(
        about original: TransactionID, of app: AppID
    ) throws(StorageFailure) -> Instant? {
        try connection.firstNumber(
            "SELECT max(documents.received_at_ms) FROM facts "
                + "JOIN documents ON documents.app = facts.app "
                + "AND documents.signed_at_ms = facts.document_signed_at_ms "
                + "AND documents.id = facts.document WHERE facts.app = $1 "
                + "AND facts.environment = 'sandbox' AND facts.purchase = $2 "
                + "AND documents.source <> 'reconciliation'",
            [.text(app.rawValue), .text(original.rawValue)]
        ).map(Instant.init(milliseconds:))
    }

    /// Whether Apple waits for an answer about a sandbox purchase.
    package func hasOpenInquiry(
        about original: TransactionID, of app: AppID
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT 1 FROM consumption_questions WHERE app = $1 AND environment = 'sandbox' "
                + "AND purchase = $2 AND due_at_ms IS NOT NULL LIMIT 1",
            [.text(app.rawValue), .text(original.rawValue)]
        ).isEmpty
    }

    /// The documents that attest facts about a sandbox purchase.
    package func documents(
        about original: TransactionID, of app: AppID, limit: Int
    ) throws(StorageFailure) -> [DocumentKey] {
        try connection.rows(
            "SELECT DISTINCT document_signed_at_ms, document FROM facts WHERE app = $1 "
                + "AND environment = 'sandbox' AND purchase = $2 LIMIT $3",
            [.text(app.rawValue), .text(original.rawValue), .integer(Int64(limit))]
        ) { row throws(StorageFailure) in
            DocumentKey(signedAt: try row.instant(), id: try row.bytes())
        }
    }

    /// All purchases about which any of these documents attests a fact.
    package func purchases(
        namedBy documents: [DocumentKey], of app: AppID
    ) throws(StorageFailure) -> Set<PurchaseID> {
        let found = try connection.rowsEach(
            "SELECT DISTINCT environment, purchase FROM facts WHERE app = $1 "
                + "AND document_signed_at_ms = $2 AND document = $3",
            documents.map { Self.key(of: $0, in: app) })
        var purchases: Set<PurchaseID> = []
        for rows in found {
            for row in rows {
                purchases.insert(
                    try row.read { row throws(StorageFailure) in try row.purchase() })
            }
        }
        return purchases
    }

    private static func key(of document: DocumentKey, in app: AppID) -> [Value] {
        [
            .text(app.rawValue), .integer(document.signedAt.milliseconds), .bytes(document.id),
        ]
    }

    /// Whether a rebuild has derived facts of an app that are not compared yet. Meanwhile, no
    /// document may be deleted.
    package func isRebuilding(_ app: AppID) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT 1 FROM \(Schema.rebuiltFacts) WHERE app = $1 LIMIT 1", [.text(app.rawValue)]
        ).isEmpty
    }

    /// The time of the database's machine.
    package func databaseTime() throws(StorageFailure) -> Instant {
        Instant(milliseconds: try connection.number("SELECT \(connection.dialect.clock)"))
    }

    // MARK: - Deletion

    /// The tables with rows of a purchase that are deleted after its facts. Rows of `transfers`
    /// stay, because an erasure finds by them who is mentioned in whose events. `events` are never
    /// deleted. The tables of seats have no rows of these purchases: purchases with seats stay.
    private static let tables = [
        "purchase_origins", "links", "blocks", "consumption_questions", "money_subscriptions",
        "purchases",
    ]

    /// Deletes sandbox purchases with all their rows, and the documents about them. No other
    /// purchase may be named by these documents. Shares must have ended before. The caller appends
    /// the events.
    package func delete(
        _ purchases: [PurchaseID], _ documents: [DocumentKey], in app: AppID
    ) throws(StorageFailure) {
        let sandbox = purchases.filter { $0.environment == .sandbox }.sorted()
        let keys: [[Value]] = sandbox.map {
            [.text(app.rawValue), .text($0.original.rawValue)]
        }
        try connection.runEach(
            "DELETE FROM facts WHERE app = $1 AND environment = 'sandbox' AND purchase = $2", keys)
        // Without facts, no transactions and movements remain, and the sums are reduced.
        for purchase in sandbox { try tx.money.rebuild(of: purchase, in: app, replacing: true) }
        for table in Self.tables {
            try connection.runEach(
                "DELETE FROM \(table) WHERE app = $1 AND environment = 'sandbox' "
                    + "AND purchase = $2", keys)
        }
        try connection.runEach(
            "DELETE FROM documents WHERE app = $1 AND signed_at_ms = $2 AND id = $3 "
                + "AND environment = 'sandbox'",
            documents.map { Self.key(of: $0, in: app) })
    }

    /// Deletes the reports about the use of transactions in the sandbox.
    package func deleteUses(
        of transactions: Set<TransactionID>, by customer: CustomerID, in app: AppID
    ) throws(StorageFailure) {
        try connection.runEach(
            "DELETE FROM consumption_uses WHERE app = $1 AND customer = $2 "
                + "AND environment = 'sandbox' AND transaction_id = $3",
            transactions.sorted().map {
                [.text(app.rawValue), .text(customer.rawValue), .text($0.rawValue)]
            })
    }
}

extension Database {
    /// The maximum size of the table `facts` on PostgreSQL for which a server creates the index
    /// itself, in bytes. Recordings wait meanwhile: for a table of this size only some seconds, so
    /// that none is refused.
    package static let indexedBytesMax: Int64 = 512 << 20
    private static let retentionIndex = "facts_by_document"
    private static let indexedColumns = "ON facts (app, document_signed_at_ms, document)"

    /// The statement by which an operator creates the index while servers record.
    package static let retentionIndexStatement =
        "CREATE INDEX CONCURRENTLY \(retentionIndex) \(indexedColumns)"

    /// Creates the index by which facts of a document are found, if it is missing. Returns whether
    /// the index exists afterwards. It does not if it would block recordings for too long, or if
    /// PostgreSQL is creating it or could not complete it. Idempotent.
    ///
    /// - Parameter bytesMax: the maximum size of the table on PostgreSQL.
    package func createRetentionIndex(bytesMax: Int64 = indexedBytesMax) async throws -> Bool {
        guard try await !hasRetentionIndex() else { return true }
        if driver.dialect == .postgres {
            let bytes = try await driver.read { connection in
                try connection.number("SELECT pg_relation_size('facts')")
            }
            guard bytes <= bytesMax else { return false }
        }
        try await driver.write { connection in
            if connection.dialect == .postgres {
                try connection.run(Dialect.withoutStatementTimeout, [])
            }
            // Requests wait behind this statement, also while it waits for the lock.
            for statement in connection.dialect.withLockTimeout(seconds: Self.stepLockSeconds) {
                try connection.run(statement, [])
            }
            try connection.run(
                "CREATE INDEX IF NOT EXISTS \(Self.retentionIndex) \(Self.indexedColumns)", [])
        }
        return try await hasRetentionIndex()
    }

    /// An index that PostgreSQL has not completed is not used, so it does not count.
    private func hasRetentionIndex() async throws -> Bool {
        let count =
            switch driver.dialect {
            case .sqlite:
                "SELECT count(*) FROM sqlite_master WHERE type = 'index' "
                    + "AND name = '\(Self.retentionIndex)'"
            case .postgres:
                "SELECT count(*) FROM pg_index "
                    + "WHERE indexrelid = to_regclass('\(Self.retentionIndex)') AND indisvalid"
            }
        return try await driver.read { try $0.number(count) } > 0
    }
}
