/// The rules that every statement must follow so that PostgreSQL can be distributed by `app`
/// (Citus). All rows that a statement touches belong to one app. No key, reference or lock spans
/// several apps. docs/scale.md explains why.
enum Distribution {
    /// Tables that are the same on all machines or that describe the database itself. A statement
    /// may read these tables without naming an app. `Schema.placements` explains why.
    private static let shared: Set = [
        "keys", "log_epochs", "operators", "operator_roles", "operator_sessions", "operator_links",
        "operator_identities", "operator_passkeys", "operator_recovery_codes", "used_sign_ins",
        "sign_in_failures", "sign_in_places", "alerts", "alert_channels", "alert_messages",
        "write_probes", "schema_versions", "sqlite_master",
    ]

    /// Statements that may break a rule. Each entry is a part of a statement's text, with the
    /// reason why the statement is harmless. A part that no statement contains is a violation, too.
    static let exceptions: [(part: String, reason: String)] = [
        // The caller inserts a list that begins with the app.
        ("FROM events WHERE \\(condition)", "the conditions in Event.swift begin with the app"),
        ("FROM events WHERE \\(EventLog.lastOfCustomer)", "that condition begins with the app"),
        ("FROM events WHERE \\(Self.ofNobodyBefore)", "that condition begins with the app"),
        ("FROM grants WHERE \\(condition)", "the conditions in GrantRows begin with the app"),
        (
            "FROM seat_claims WHERE \\(condition)",
            "the conditions in SeatClaimRows begin with the app"
        ),
        (
            "FROM seat_claims WHERE \\(Self.openOnPurchase)",
            "that condition begins with the app"
        ),
        (
            "FROM seat_invitations WHERE \\(condition)",
            "the conditions in SeatInvitationRows begin with the app"
        ),
        (
            "FROM webhook_deliveries WHERE \\(condition)",
            "the condition in WebhookListRows begins with the app"
        ),
        (
            "FROM \\(table) WHERE \\(leaseEnd) <= $1",
            "the key and the scope of every LeaseQueue begin with the app"
        ),
        ("SELECT count(*), min(\\(since))", "the scope of every LeaseQueue begins with the app"),
        (
            "UPDATE \\(queue.table) SET \\(queue.leaseEnd)",
            "the key of every LeaseQueue begins with the app"
        ),
        (
            "UPDATE \\(queue.table) SET \\(sets.joined",
            "the key of every LeaseQueue begins with the app"
        ),
        ("FROM money_movements WHERE \\(condition)", "the condition begins with the app"),
        ("FROM money_sums WHERE \\(condition)", "the condition begins with the app"),
        ("INSERT INTO \\(table) (\\(columns.joined", "the columns begin with the app"),
        ("INSERT INTO \\(name) (\\(columns.joined", "a copy inserts all columns, also the app"),
        // Lists the apps. Reads from all machines without a lock.
        ("SELECT min(app) FROM documents WHERE app > $1", "looks for the next app"),
        ("SELECT DISTINCT app FROM purchases UNION", "looks for all apps, for an audit"),
        ("SELECT app, last_sequence FROM logs ORDER BY app", "all apps, after a restore"),
        ("SELECT DISTINCT app FROM pending_events", "looks for apps with work"),
        ("SELECT DISTINCT app FROM webhooks", "pauses all of them, in a copy on one machine"),
        ("SELECT app FROM \\(name)", "looks for the next app of a copy"),
        // An operator runs these statements for all apps. No other statement relies on the snapshot
        // of these statements.
        ("SELECT count(*) FROM documents", "a count for a report"),
        ("SELECT count(*) FROM purchases", "a count for a report"),
        ("SELECT (SELECT count(*) FROM documents)", "counts for a report"),
        (
            "FROM documents_other WHERE signed_at_ms",
            "months are the same for all apps; a new one must have no rows yet"
        ),
        (
            "UPDATE app_stores SET caught_up_to_ms = caught_up_to_ms - $1",
            "all apps, after a restore"
        ),
        (
            "SELECT app, id, kind, environment, source, signed_at_ms, received_at_ms",
            "what follows the text compares the app"
        ),
        ("FROM pragma_page_count, pragma_page_size", "for SQLite only: the size of its file"),
        ("SELECT * FROM \\(table) LIMIT", "an operator's check before an upgrade"),
        ("SELECT count(*) FROM (SELECT 1 FROM \\(table)", "an operator's check before an upgrade"),
        // A rebuild locks out all other writers.
        ("TRUNCATE \\(table)", "a rebuild empties a table of its own"),
        ("DELETE FROM \\(table)", "for SQLite only"),
        ("LOCK TABLE", "a rebuild and a migration lock out all writers on purpose"),
        ("INSERT INTO \\(Self.rebuilt) SELECT facts.*", "a rebuild; its joins are by the app"),
        ("SELECT count(*) FROM \\(Self.rebuilt)", "a rebuild counts"),
        ("EXCEPT SELECT app, document FROM", "a rebuild compares; the app is a column of both"),
        ("DELETE FROM facts", "a rebuild replaces all facts"),
        ("INSERT INTO facts SELECT * FROM", "a rebuild replaces all facts"),
        (
            "FROM \\(PurchaseRows.purchasesWithOwners) WHERE \\(Self.withoutFacts)",
            "a rebuild; joined by the app"
        ),
        ("DELETE FROM purchases WHERE \\(Self.withoutFacts)", "a rebuild; compared by the app"),
        ("EXCEPT SELECT * FROM \\(table)", "a rebuild compares; the app is a column of both"),
        ("WHERE (app, environment, purchase) > ($1, $2, $3)", "a rebuild reads on from a key"),
        // Statements of the schema's migration steps.
        (
            "CREATE TABLE IF NOT EXISTS schema_versions",
            "it is about the database, and stays on the coordinator"
        ),
        (
            "position BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY",
            "an order of arrival, from the coordinator's sequence; no key without the app"
        ),
    ]

    /// Returns all statements that break a rule and are not exceptions.
    static func violations(among files: [SourceFile]) -> [Violation] {
        let ours = files.filter(isOurs)
        let statements = ours.flatMap { file in
            let found =
                file.isSwift
                ? Statements.statements(in: file) : Statements.statements(inSQL: file)
            return found.map { (file: file, statement: $0) }
        }
        let found = statements.flatMap { file, statement in
            let isExempt = exceptions.contains { statement.text.contains($0.part) }
            return isExempt
                ? []
                : complaints(about: statement.text).map { what in
                    violation(file.path, statement.line, what)
                }
        }
        let unused = exceptions.filter { exception in
            !statements.contains {
                $0.statement.text.contains(exception.part)
                    && !complaints(about: $0.statement.text).isEmpty
            }
        }
        return found + ours.flatMap(queuesWithoutApp)
            + unused.map {
                violation(
                    "Server/Tests/TidyTests/Distribution.swift", 1,
                    "No statement needs the exception “\($0.part)”.")
            }
    }

    private static func isOurs(_ file: SourceFile) -> Bool {
        (file.isSwift && !file.path.hasSuffix("Schema+Distribution.swift")
            || file.path.hasSuffix("/postgres.sql"))
            && ["Server/Sources/Storage/", "Server/Sources/StoragePostgres/"].contains {
                file.path.hasPrefix($0)
            }
    }

    private static func violation(_ path: String, _ line: Int, _ what: String) -> Violation {
        Violation(
            path: path, line: line, what: what,
            remedy: "compare the app, so that the statement is about rows on one machine; or add "
                + "it to Distribution.exceptions with its reason.")
    }

    // MARK: - Rules

    /// Returns the reasons why a distributed PostgreSQL cannot run a statement on one machine, or
    /// cannot run it at all.
    static func complaints(about sql: String) -> [String] {
        rowComplaints(sql) + insertComplaints(sql) + lockComplaints(sql) + tableComplaints(sql)
    }

    /// Complains unless each table is restricted to one app: by a value, or by a join with a table
    /// that is restricted.
    private static func rowComplaints(_ sql: String) -> [String] {
        guard sql.contains(#/^(SELECT|UPDATE|DELETE|INSERT|WITH) /#) else { return [] }
        var tables = sql.matches(of: #/\b(?:FROM|JOIN) ([a-z_]+|\\\([^)]*\))/#).map {
            String($0.output.1)
        }
        if let changed = sql.firstMatch(of: #/^UPDATE (\S+)/#) { tables.append(String(changed.1)) }
        let spread = tables.filter { !shared.contains($0) && !$0.hasPrefix("pg_") }
        let compared = sql.matches(of: #/[^a-z_]app = (?:\$|[a-z_]+\.app|\\\()/#).count
        guard compared < spread.count else { return [] }
        return ["\(spread.joined(separator: ", ")): not every table is compared by its app."]
    }

    private static func insertComplaints(_ sql: String) -> [String] {
        var found: [String] = []
        if let insert = sql.firstMatch(of: #/^INSERT INTO ([a-z_]+|\\\([^)]*\))( \(app\b)?/#),
            insert.2 == nil, !shared.contains(String(insert.1))
        {
            found.append("Rows are inserted whose first column is not the app.")
        }
        if sql.contains(#/ON CONFLICT \((?!app\b)/#) {
            found.append("A conflict is on a key that does not begin with the app.")
        }
        return found
    }

    private static func lockComplaints(_ sql: String) -> [String] {
        var found: [String] = []
        if sql.contains(#/^(TRUNCATE|LOCK TABLE) /#) {
            found.append("Rows of all apps are locked.")
        }
        if sql.contains(#/\bSET app = /#) { found.append("The app of a row cannot be changed.") }
        if sql.contains(#/pg_advisory|\bLISTEN\b|\bNOTIFY\b|CREATE TRIGGER/#) {
            found.append("Advisory locks, triggers and notifications are of one machine.")
        }
        return found
    }

    private static func tableComplaints(_ sql: String) -> [String] {
        var found: [String] = []
        let isTable = sql.contains(#/^CREATE TABLE /#) && !sql.contains(" PARTITION OF ")
        if isTable, !sql.contains(#/PRIMARY KEY \(app\b|\bapp [^,]*PRIMARY KEY/#) {
            found.append("A primary key does not begin with the app.")
        }
        if sql.contains(#/FOREIGN KEY \((?!app\b)|REFERENCES \w+ \((?!app\b)/#) {
            found.append("A reference does not begin with the app.")
        }
        if sql.contains(#/CREATE UNIQUE INDEX/#), !sql.contains(#/ ON \w+ \(app\b/#) {
            found.append("A unique index does not begin with the app.")
        }
        if isTable, sql.contains(#/\bUNIQUE \((?!app\b)|\bUNIQUE[,)]/#) {
            found.append("A unique key does not begin with the app.")
        }
        if sql.contains(#/\bIDENTITY\b|\bSERIAL\b|SEQUENCE|nextval/#) {
            found.append("A sequence counts for all apps, and on each machine by itself.")
        }
        return found
    }

    /// Finds queues without the app. The statements of a queue are composed of parts, so the other
    /// checks do not see them.
    private static func queuesWithoutApp(in file: SourceFile) -> [Violation] {
        let text = file.text
        return text.matches(of: #/LeaseQueue\(\s*table: /#).compactMap { match in
            let declared = text[match.range.lowerBound...].prefix(400)
            // A constant for the key may come before the queue.
            let begun = text[..<match.range.lowerBound].suffix(200) + declared
            guard !begun.contains("[\"app\"") || declared.contains(#/scope: \[(?!"app")/#)
            else { return nil }
            let line = text[..<match.range.lowerBound].count { $0 == "\n" } + 1
            return violation(file.path, line, "The key or scope does not begin with the app.")
        }
    }
}
