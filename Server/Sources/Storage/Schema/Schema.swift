/// The tables, as numbered migration steps. A released step is never changed; changes are added as
/// new steps.
///
/// A row of `customers` without a row of `customer_ids` stands for an erased customer.
///
/// Primary tables, which cannot be derived from anything else: `headers`, `documents`, `customers`,
/// `customer_ids`, `links`, `shares`, `blocks`, `transfers`, `grants`, `erasures`, `parted_ids`,
/// `seat_claims` with `seat_invitations` and `seat_unclaims`,
/// `keys`, `token_keys`, `secrets`, `debits`, `forwards` with `forward_bodies`, `webhooks` with
/// `webhook_deliveries` and `webhook_attempts`, `imports`, `reminders`, `purchase_origins`,
/// `apple_reports`, `owners` with `owner_roles`, `owner_sessions` and `owner_links`,
/// `audit_entries`,
/// `consumption_questions` with `consumption_consents` and `consumption_uses`, and the event log:
/// `events`, `pending_events`, `logs` with `log_epochs`, and the state last reported in it, which
/// is `told` of each purchase and `wallets`.
///
/// Derived tables, which a rebuild computes again by way of `facts_rebuilt`: `facts`, `purchases`,
/// and `money_transactions`, `money_movements` and `money_subscriptions`, which `money_fills` fills
/// when the rules of money change; and `money_sums` with `money_changes`, which `money_sum_fills`
/// fills. `shown_entitlements` and `shown_wallet_entries` follow from all others; `showings` says
/// how far they are written.
///
/// Between the two are `app_stores` and the columns of `purchases` that record checks with the App
/// Store (if lost, the checks are repeated); `former_ids` (if lost, some documents are stored
/// twice); `sign_in_failures` (if lost, passwords can be tried anew) with `sign_in_places` (if
/// lost, an owner shares the tries by the name with strangers); `seat_groups` (if lost, the App
/// Store is asked again when somebody joins); and `term_watches` with `reminder_rules` (if lost,
/// every customer is examined again).
///
/// `recordings` has no rows, and exists on PostgreSQL only.
///
/// Every key begins with the app, so that rows can be sharded by app. On PostgreSQL each month has
/// its own partition of `documents`.
///
/// A database may plan its statements while the tables are empty, and cache the plans. Therefore,
/// of the indexes that a statement could use, only one begins with all the columns that it
/// compares.
package enum Schema {
    package static let version = migrations(.sqlite).count
    /// A database with fewer steps predates the final form of these steps, and is refused.
    package static let oldestVersion = 4

    /// A change of the schema. Released ones stay as they are; a new one goes to the end.
    struct Migration: Sendable {
        /// For failures.
        var name: String
        var statements: [String]

        init(_ name: String, _ statements: [String]) {
            (self.name, self.statements) = (name, statements)
        }
    }

    static func migrations(_ dialect: Dialect) -> [Migration] {
        [
            .init("documents, purchases and customers", initialTables(dialect)),
            .init("App Store health", appStoreTables(dialect)),
            .init("events", eventTables(dialect)),
            .init("wallets", walletTables(dialect)),
            .init("forwards", forwardTables(dialect)),
            .init("secrets", secretTables(dialect)),
            .init("ownership", identityTables(dialect)),
            .init("token keys", tokenTables(dialect)),
            .init("reminders", reminderTables(dialect)),
            .init("consumption", consumptionTables(dialect)),
            .init("reported balances", reportedBalanceTables(dialect)),
            .init("rebuilt facts", rebuiltTables(dialect)),
            .init("write lock", writeLockTables(dialect)),
            .init("indexes of lists", listIndexes),
            .init("events without an owner", unownedEventIndexes),
            .init("keys of erasure hashes", erasureKeyingColumns(dialect)),
            .init("probe of readiness", probeTables(dialect)),
            .init("epochs of the log", logEpochTables(dialect)),
            .init("ids of documents", documentIDTables(dialect)),
            .init("walks through histories", historyWalkColumns(dialect)),
            .init("removed ids", removedIDTables(dialect)),
            .init("pending events", pendingTables(dialect)),
            .init("account tokens", accountTokenColumns(dialect)),
            .init("prepared token keys", preparedKeyColumns(dialect)),
            .init("key scopes", keyScopeColumns(dialect)),
            .init("readable events", eventDetailsColumns(dialect)),
            .init("purchase origins", purchaseOriginTables(dialect)),
            .init("webhooks", webhookTables(dialect)),
            .init("money", moneyTables(dialect)),
            .init("owners", ownerTables(dialect)),
            .init("parts of a month's price", monthlyPartColumns(dialect)),
            .init("sums of money", moneySumTables(dialect)),
            .init("rows about customers", shownTables(dialect)),
            .init("credits by hand", handCreditColumns(dialect)),
            .init("movements by kind", movementKindIndexes),
            .init("customer ids by their beginning", customerPrefixIndexes),
            .init("presented documents", presentedDocumentColumns(dialect)),
            .init("transactions by product", soldProductIndexes),
            .init("places of signing in", signInPlaceTables(dialect)),
            .init("recordings", recordingTables(dialect)),
            .init("seats", seatTables(dialect)),
            .init("reports of seats", seatReportTables(dialect)),
            .init("seats in money", seatMoneyColumns(dialect)),
        ]
    }

    /// The facts that a rebuild derives from the documents, until they are compared with `facts` or
    /// replace them. It has the same columns. The table always exists, and is empty between
    /// rebuilds: creating a table in SQLite invalidates every prepared statement.
    static let rebuiltFacts = "facts_rebuilt"

    /// Earlier versions created this table for each rebuild, and may have been interrupted.
    private static func rebuiltTables(_ type: Dialect) -> [String] {
        [
            "DROP TABLE IF EXISTS \(rebuiltFacts)", factsTable(named: rebuiltFacts, type),
        ]
    }

    /// An empty table that writers of earlier versions locked; ``pendingTables(_:)`` drops it.
    private static func writeLockTables(_ type: Dialect) -> [String] {
        guard type == .postgres else { return [] }
        return ["CREATE TABLE turns (app \(type.text) NOT NULL PRIMARY KEY)"]
    }

    private static func initialTables(_ type: Dialect) -> [String] {
        documentTables(type) + ledgerTables(type) + customerTables(type)
    }

    private static func documentTables(_ type: Dialect) -> [String] {
        [
            // Certificate chains, which Apple repeats in every document, stored once.
            """
            CREATE TABLE headers (
                app \(type.text) NOT NULL,
                digest \(type.bytes) NOT NULL CHECK (length(digest) = 32),
                segment \(type.bytes) NOT NULL,
                PRIMARY KEY (app, digest)
            ) \(type.strict)
            """,
            // `id` is the SHA-256 of the signed content; for older documents, of the whole document
            // as received. `parts` and `headers` reproduce the document byte for byte.
            """
            CREATE TABLE documents (
                app \(type.text) NOT NULL,
                signed_at_ms \(type.integer) NOT NULL,
                id \(type.bytes) NOT NULL CHECK (length(id) = 32),
                kind \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                source \(type.text) NOT NULL,
                received_at_ms \(type.integer) NOT NULL,
                parts \(type.bytes) NOT NULL,
                headers \(type.bytes) NOT NULL CHECK (length(headers) % 32 = 0),
                PRIMARY KEY (app, signed_at_ms, id)
            ) \(type.strictPartitionedByMonth)
            """,
        ] + (type == .postgres ? [defaultPartition] : [])
    }

    private static let defaultPartition =
        "CREATE TABLE documents_other PARTITION OF documents DEFAULT"

    private static func ledgerTables(_ type: Dialect) -> [String] {
        [
            factsTable(named: "facts", type)
        ] + purchaseTable(type)
    }

    private static func factsTable(named name: String, _ type: Dialect) -> String {
        """
        CREATE TABLE \(name) (
            app \(type.text) NOT NULL,
            environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
            purchase \(type.text) NOT NULL,
            attested_at_ms \(type.integer) NOT NULL,
            subject \(type.text) NOT NULL,
            document \(type.bytes) NOT NULL,
            document_signed_at_ms \(type.integer) NOT NULL,
            statement \(type.bytes) NOT NULL,
            PRIMARY KEY (app, environment, purchase, attested_at_ms, subject, document),
            FOREIGN KEY (app, document_signed_at_ms, document)
                REFERENCES documents (app, signed_at_ms, id)
        ) \(type.strictWithoutRowID)
        """
    }

    private static func customerTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE customers (
                app \(type.text) NOT NULL,
                customer \(type.text) NOT NULL CHECK (length(customer) > 0),
                created_at_ms \(type.integer) NOT NULL,
                last_sequence \(type.integer) NOT NULL,
                PRIMARY KEY (app, customer)
            ) \(type.strictWithoutRowID)
            """,
            """
            CREATE TABLE customer_ids (
                app \(type.text) NOT NULL,
                id \(type.text) NOT NULL CHECK (length(id) > 0),
                customer \(type.text) NOT NULL,
                since_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, id),
                FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
            ) \(type.strictWithoutRowID)
            """,
            "CREATE INDEX customer_ids_by_customer "
                + "ON customer_ids (app, customer, since_ms, id)",
            // One row per purchase: it belongs to at most one customer.
            """
            CREATE TABLE links (
                app \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text) NOT NULL,
                customer \(type.text) NOT NULL,
                evidence \(type.text) NOT NULL CHECK (evidence IN ('device', 'token', 'support')),
                since_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, purchase, environment),
                FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
            ) \(type.strictWithoutRowID)
            """,
            "CREATE INDEX links_by_customer ON links (app, customer, environment)",
            """
            CREATE TABLE keys (
                app \(type.text) NOT NULL,
                hash \(type.bytes) NOT NULL CHECK (length(hash) = 32),
                kind \(type.text) NOT NULL CHECK (kind IN ('app', 'secret')),
                name \(type.text) NOT NULL,
                created_at_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, hash)
            ) \(type.strictWithoutRowID)
            """,
            "CREATE INDEX keys_by_hash ON keys (hash)",
        ]
    }
}
