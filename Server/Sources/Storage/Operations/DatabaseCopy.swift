/// A table to be copied, ordered by its key, which begins with the app.
struct CopiedTable: Hashable, Sendable {
    var name: String
    var key: [String]
    var others: [String]

    var columns: [String] { key + others }

    /// All tables to copy. Tables that are referenced by others come first.
    static let all = ledger + operators + money + shown

    private static let ledger = [
        CopiedTable(name: "headers", key: ["app", "digest"], others: ["segment"]),
        CopiedTable(
            name: "documents", key: ["app", "signed_at_ms", "id"],
            others: ["kind", "environment", "source", "received_at_ms", "parts", "headers"]),
        CopiedTable(
            name: "customers", key: ["app", "customer"],
            others: ["created_at_ms"]),
        CopiedTable(
            name: "customer_ids", key: ["app", "id"],
            others: ["customer", "since_ms", "is_account_token"]),
        CopiedTable(
            name: "links", key: ["app", "purchase", "environment"],
            others: [
                "customer", "evidence", "since_ms", "document_signed_at_ms", "is_confirmed",
            ]),
        CopiedTable(
            name: "keys", key: ["app", "hash"],
            others: ["kind", "name", "created_at_ms", "scopes", "until_ms", "last_used_at_ms"]),
        CopiedTable(name: "logs", key: ["app"], others: ["last_sequence"]),
        CopiedTable(
            name: "log_epochs", key: ["app", "number"],
            others: ["name", "after_sequence", "began_at_ms"]),
        CopiedTable(
            name: "events", key: ["app", "sequence"],
            others: [
                "customer", "customer_sequence", "environment", "purchase", "kind", "known_at_ms",
                "document", "details",
            ]),
        CopiedTable(
            name: "debits", key: ["app", "debit"],
            others: [
                "environment", "customer", "currency", "amount", "reason", "at_ms", "balance",
                "is_credit",
            ]),
        CopiedTable(
            name: "wallets", key: ["app", "customer", "environment", "currency"],
            others: ["balance"]),
        CopiedTable(
            name: "forward_bodies", key: ["app", "document"], others: ["content_type", "body"]),
        CopiedTable(
            name: "forwards", key: ["app", "document", "target"],
            others: [
                "environment", "created_at_ms", "due_at_ms", "attempts", "attempted_at_ms",
                "status", "trouble", "accepted_at_ms", "lease_until_ms", "lease_holder",
            ]),
        CopiedTable(
            name: "webhooks", key: ["app", "webhook"],
            others: [
                "origin", "url", "types", "products", "environments", "format",
                "authorization_value", "secret", "former_secret", "former_until_ms",
                "created_at_ms", "cursor", "paused_at_ms", "pause_reason", "held_until_ms",
                "failing_since_ms", "is_reported", "deleted_at_ms", "lease_until_ms",
                "lease_holder",
            ]),
        CopiedTable(
            name: "webhook_deliveries", key: ["app", "webhook", "message"],
            others: [
                "sequence", "kind", "stream", "state", "created_at_ms", "due_at_ms", "tries",
                "attempts", "attempted_at_ms", "status", "trouble", "ended_at_ms", "body",
                "lease_until_ms", "lease_holder",
            ]),
        CopiedTable(
            name: "webhook_attempts", key: ["app", "webhook", "message", "attempt"],
            others: ["at_ms", "milliseconds", "status", "trouble", "answer"]),
        CopiedTable(
            name: "imports", key: ["app", "kind", "file"],
            others: [
                "bytes_read", "lines_read", "used", "refused", "report_bytes", "changed_at_ms",
                "ended_at_ms",
            ]),
        CopiedTable(
            name: "rehearsals", key: ["app", "environment", "ended_at_ms"], others: ["signed"]),
        CopiedTable(
            name: "rehearsal_differences", key: ["app", "environment", "number"],
            others: [
                "cause", "customer", "entitlement", "aspect", "effect", "ours", "theirs",
                "evidence_here", "evidence_there",
            ]),
        CopiedTable(name: "secrets", key: ["app", "name"], others: ["secret", "created_at_ms"]),
        CopiedTable(
            name: "transfers", key: ["app", "transfer"],
            others: [
                "environment", "purchase", "kind", "former", "customer", "evidence", "reason",
                "at_ms", "undone_at_ms",
            ]),
        CopiedTable(
            name: "shares", key: ["app", "purchase", "environment", "customer"],
            others: ["since_ms", "document_signed_at_ms", "is_confirmed"]),
        CopiedTable(
            name: "blocks", key: ["app", "purchase", "environment"],
            others: ["reason", "since_ms"]),
        CopiedTable(
            name: "seat_claims", key: ["app", "claim"],
            others: [
                "environment", "purchase", "customer", "claimed_at_ms", "ended_at_ms", "cause",
                "apple_state", "apple_claim", "apple_asked_at_ms", "apple_since_ms", "due_at_ms",
                "attempts", "trouble", "lease_until_ms", "lease_holder",
            ]),
        CopiedTable(
            name: "seat_groups", key: ["app", "environment", "purchase"],
            others: [
                "seats", "available", "foreign_claims", "asked_at_ms", "since_ms", "due_at_ms",
                "attempts", "trouble", "lease_until_ms", "lease_holder",
            ]),
        CopiedTable(
            name: "seat_unclaims", key: ["app", "document", "apple_claim"],
            others: ["environment", "is_bound"]),
        CopiedTable(
            name: "seat_invitations", key: ["app", "invitation"],
            others: [
                "digest", "environment", "purchase", "customer", "created_at_ms", "expires_at_ms",
                "used_at_ms", "claim", "withdrawn_at_ms",
            ]),
        CopiedTable(
            name: "grants", key: ["app", "grant_id"],
            others: [
                "environment", "customer", "entitlement", "from_ms", "until_ms", "reason",
                "withdrawn_at_ms", "next_change_at_ms",
            ]),
        CopiedTable(
            name: "token_keys", key: ["app", "key_id"],
            others: ["private_key", "created_at_ms", "retired_at_ms", "is_prepared"]),
        CopiedTable(
            name: "consumption_questions", key: ["app", "environment", "purchase", "document"],
            others: [
                "transaction_id", "product", "reason", "asked_at_ms", "due_at_ms", "attempts",
                "ended_at_ms", "state", "trouble", "delivery", "used", "had_sample", "preference",
                "lease_until_ms", "lease_holder",
            ]),
        CopiedTable(
            name: "consumption_consents", key: ["app", "customer"],
            others: ["is_given", "had_sample", "at_ms"]),
        CopiedTable(
            name: "consumption_uses", key: ["app", "customer", "environment", "transaction_id"],
            others: ["delivery", "used"]),
        CopiedTable(
            name: "reminders",
            key: ["app", "subject", "environment", "chain", "until_ms", "days_before"],
            others: ["emitted_at_ms"]),
        CopiedTable(
            name: "term_watches", key: ["app", "subject", "environment"], others: ["due_at_ms"]),
        CopiedTable(name: "reminder_rules", key: ["app"], others: ["rules", "swept_to"]),
        CopiedTable(
            name: "customer_attributes", key: ["app", "customer", "name"],
            others: ["value", "updated_at_ms", "author", "mail_address"]),
        CopiedTable(
            name: "removed_ids", key: ["app", "id", "customer"], others: ["removed_at_ms"]),
        CopiedTable(
            name: "erasures", key: ["app", "id_hash"], others: ["erased_at_ms"]),
        CopiedTable(
            name: "facts",
            key: ["app", "environment", "purchase", "attested_at_ms", "subject", "document"],
            others: ["document_signed_at_ms", "statement"]),
        CopiedTable(
            name: "purchases", key: ["app", "environment", "purchase"],
            others: [
                "account_token", "timeline", "due_at_ms", "known_at_ms", "asked_at_ms",
                "failed_at_ms", "failures", "revision", "lease_until_ms", "lease_holder",
                "reported_state",
                "next_change_at_ms", "documents_full_at_ms",
            ]),
        CopiedTable(
            name: "purchase_origins",
            key: ["app", "environment", "purchase", "transaction_id"],
            others: ["placement", "sdk", "storefront", "posted_at_ms"]),
        CopiedTable(
            name: "app_stores", key: ["app", "environment"],
            others: [
                "answered_at_ms", "failures", "paused_until_ms", "busy_until_ms", "caught_up_to_ms",
                "lease_until_ms", "lease_holder", "walked_to_ms", "walk_lease_until_ms",
                "walk_lease_holder",
            ]),
    ]

    /// Selects the first app, or the next app.
    func selectApp(isFirst: Bool) -> String {
        "SELECT app FROM \(name) \(isFirst ? "" : "WHERE app > $1 ")ORDER BY app LIMIT 1"
    }

    /// Selects the next batch of an app's rows after a key, or the first batch.
    ///
    /// The app is compared with `=`, separately from the other key columns: otherwise PostgreSQL
    /// would read and sort the rest of a partitioned table for each batch.
    func select(isFirst: Bool, limit: Int) -> String {
        let rest = key.dropFirst().joined(separator: ", ")
        let start = isFirst ? "" : " AND (\(rest)) > (\(Self.parameters(2...key.count)))"
        let order = rest.isEmpty ? "" : " ORDER BY \(rest)"
        return "SELECT \(columns.joined(separator: ", ")) FROM \(name) WHERE app = $1"
            + "\(start)\(order) LIMIT \(limit)"
    }

    /// The statement that inserts a row, unless it exists.
    fileprivate var insert: String {
        "INSERT INTO \(name) (\(columns.joined(separator: ", "))) "
            + "VALUES (\(Self.parameters(1...columns.count))) "
            + "ON CONFLICT (\(key.joined(separator: ", "))) DO NOTHING"
    }

    private static func parameters(_ numbers: ClosedRange<Int>) -> String {
        numbers.map { "$\($0)" }.joined(separator: ", ")
    }
}

/// How far a copy has come.
package struct CopyProgress: Hashable, Sendable {
    package var table: String
    /// The number of rows copied, or compared, so far.
    package var rows: Int
    /// Whether the copy is finished and is being compared with the original.
    package var isComparing: Bool
}

extension Database {
    /// The number of rows read and written in one batch.
    private static let copyBatch = 500

    /// Copies all rows of another database into this one. The engines of the two databases may
    /// differ. Then reads both databases again and compares them row by row. This database must
    /// have been migrated and contain no rows. Nothing may write to either database in the
    /// meantime; any difference at the end makes the copy fail.
    ///
    /// - Returns: the total number of rows.
    /// - Throws: ``StorageFailure`` if this database is not empty, or differs at the end. The copy
    ///   is then unusable: start again with an empty database.
    @discardableResult
    package func copy(
        from other: Database, progress: @Sendable (CopyProgress) -> Void = { _ in }
    ) async throws -> Int {
        guard try await other.schemaVersion() <= Schema.version else {
            throw StorageFailure(
                "a newer version of Perennial has migrated the source, so this version does not "
                    + "know all of its tables: copy it with the newer version")
        }
        try await requireEmpty()
        try await setCopying(true)
        for table in CopiedTable.all {
            var rows = 0
            var months: Set<Month> = []
            try await other.eachBatch(of: table) { batch in
                let values = batch.map(\.values)
                if table.name == "documents" {
                    try await createPartitions(
                        ofSigned: Self.signingTimes(ofDocuments: batch), but: &months)
                }
                _ = try await driver.write { try $0.runEach(table.insert, values) }
                rows += batch.count
                progress(CopyProgress(table: table.name, rows: rows, isComparing: false))
            }
        }
        var total = 0
        for table in CopiedTable.all {
            let rows = try await compare(table, with: other)
            progress(CopyProgress(table: table.name, rows: rows, isComparing: true))
            total += rows
        }
        total += try await numberPending(from: other)
        try await setCopying(false)
        return total
    }

    /// Events may be pending in the other database, which is not changed. Numbers these events in
    /// this database. Returns how many events it numbered. Nothing else may write to this database
    /// meanwhile.
    private func numberPending(from other: Database) async throws -> Int {
        var total = 0
        for app in try await other.read({ try $0.pendingEvents.apps() }) {
            var last: Int64 = 0
            while true {
                let position = last
                let batch = try await other.read {
                    try $0.pendingEvents.all(of: app, after: position, limit: Self.copyBatch)
                }
                guard let end = batch.last else { break }
                try await driver.write {
                    try DatabaseSession($0).pendingEvents.insertNumbered(batch.map(\.event))
                }
                total += batch.count
                last = end.position
            }
        }
        return total
    }

    /// Marks the database as incomplete, so that no server uses it: see ``migrate(at:)``.
    private func setCopying(_ isCopying: Bool) async throws {
        let statement =
            isCopying
            ? "INSERT INTO schema_versions (version, applied_at_ms) VALUES ($1, 0)"
            : "DELETE FROM schema_versions WHERE version = $1"
        _ = try await driver.write {
            try $0.run(statement, [.integer(SchemaVersions.unfinishedCopy)])
        }
    }

    private func requireEmpty() async throws {
        for table in CopiedTable.all {
            let rows = try await driver.read {
                try $0.rows(table.selectApp(isFirst: true), [])
            }
            guard rows.isEmpty else {
                throw StorageFailure(
                    "the table \(table.name) is not empty: a copy needs an empty database")
            }
        }
    }

    /// Compares a table in both databases. SQLite and PostgreSQL sort keys alike, so the batches of
    /// both contain the same rows.
    private func compare(_ table: CopiedTable, with other: Database) async throws -> Int {
        var count = 0
        var last: Row?
        try await other.eachBatch(of: table) { batch in
            guard try await rows(of: table, after: last) == batch else {
                throw Self.differs(table, after: count)
            }
            count += batch.count
            last = batch.last
        }
        guard try await rows(of: table, after: last).isEmpty else {
            throw Self.differs(table, after: count)
        }
        return count
    }

    private static func differs(_ table: CopiedTable, after count: Int) -> StorageFailure {
        StorageFailure(
            "the copy of the table \(table.name) differs after row \(count): "
                + "stop all writers of both databases, and copy again into an empty one")
    }

    private static func signingTimes(ofDocuments rows: [Row]) throws(StorageFailure) -> [Int64] {
        try rows.read { row throws(StorageFailure) in
            try row.skip()
            defer { _ = row.rest() }
            return try row.integer()
        }
    }

    private func eachBatch(
        of table: CopiedTable, _ body: ([Row]) async throws -> Void
    ) async throws {
        var last: Row?
        while true {
            let batch = try await rows(of: table, after: last)
            guard !batch.isEmpty else { return }
            try await body(batch)
            last = batch.last
        }
    }

    private func rows(of table: CopiedTable, after last: Row?) async throws -> [Row] {
        try await driver.read { connection in
            if let last, table.key.count > 1 {
                let rest = try connection.rows(
                    table.select(isFirst: false, limit: Self.copyBatch),
                    Array(last.values.prefix(table.key.count)))
                guard rest.isEmpty else { return rest }
            }
            let next = try connection.rows(
                table.selectApp(isFirst: last == nil), last.map { Array($0.values.prefix(1)) } ?? []
            )
            guard let app = next.first else { return [] }
            return try connection.rows(
                table.select(isFirst: true, limit: Self.copyBatch), app.values)
        }
    }
}
