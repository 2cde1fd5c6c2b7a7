/// The tables, as numbered steps. A step that has been released is never changed; a new one follows
/// it.
///
/// A row of `customers` without one of `customer_ids` stands for somebody who was erased.
///
/// Ground: `headers`, `documents`, `customers`, `customer_ids`, `links`, `shares`, `blocks`,
/// `transfers`, `grants`, `erasures`, `parted_ids`, `keys`, `token_keys`, `secrets`, `debits`,
/// `forwards` with their `forward_bodies`, `imports`, `reminders`, `consumption_questions` with
/// `consumption_consents` and `consumption_uses`, and the log of what was told: `events`, `logs`
/// with their `log_epochs`, and where it ends, `told` of each purchase and `wallets`. Derived, and
/// made again by a rebuild by way of `facts_rebuilt`: `facts`, `purchases`. Between the two:
/// `app_stores`, and those columns of `purchases` that say how asking the store went, which may be
/// lost at the price of asking it again; `former_ids`, at the price of keeping some documents
/// twice; and `term_watches` with `reminder_rules`, at the price of looking at every customer.
/// Every key begins with the app, so that rows can be spread over machines by it. On PostgreSQL
/// each month has its own table of documents.
///
/// A database may plan its statements while the tables are empty, and keep the plans. So of the
/// indexes that a statement might use only one begins with all the columns it compares.
package enum Schema {
    package static let version = steps(.sqlite).count
    /// A database that has fewer steps was made before these were settled, and is refused.
    package static let oldestVersion = 4

    static func steps(_ dialect: Dialect) -> [[String]] {
        [
            firstTables(dialect), storeTables(dialect), eventTables(dialect),
            walletTables(dialect), forwardTables(dialect), secretTables(dialect),
            identityTables(dialect), tokenTables(dialect), reminderTables(dialect),
            consumptionTables(dialect), toldWalletTables(dialect), rebuiltTables(dialect),
            turnTables(dialect), listIndexes, nobodysIndexes, erasureKinds(dialect),
            probeTables(dialect), epochTables(dialect),
            documentIDTables(dialect), walkColumns(dialect),
            partingTables(dialect),
        ]
    }

    /// What a rebuild makes of the documents, until it is compared or put in the place of `facts`:
    /// the same columns. It is always there, and empty between rebuilds: in SQLite to make a table
    /// is to prepare every statement anew.
    static let rebuiltFacts = "facts_rebuilt"

    /// Earlier versions made it when they rebuilt, and may have been interrupted.
    private static func rebuiltTables(_ type: Dialect) -> [String] {
        [
            "DROP TABLE IF EXISTS \(rebuiltFacts)", factsTable(named: rebuiltFacts, type),
        ]
    }

    /// Nothing stands in it: writers lock it, see ``Dialect/besideOthers``. SQLite has one writer.
    private static func turnTables(_ type: Dialect) -> [String] {
        guard type == .postgres else { return [] }
        return ["CREATE TABLE turns (app \(type.text) NOT NULL PRIMARY KEY)"]
    }

    private static func firstTables(_ type: Dialect) -> [String] {
        documentTables(type) + ledgerTables(type) + customerTables(type)
    }

    private static func documentTables(_ type: Dialect) -> [String] {
        [
            // The certificates that every document of Apple's repeats, once.
            """
            CREATE TABLE headers (
                app \(type.text) NOT NULL,
                digest \(type.bytes) NOT NULL CHECK (length(digest) = 32),
                segment \(type.bytes) NOT NULL,
                PRIMARY KEY (app, digest)
            ) \(type.strict)
            """,
            // `id` is the SHA-256 of what is signed, of older documents that of the document as it
            // came; `parts` and `headers` give it back byte for byte.
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
            ) \(type.strictByMonth)
            """,
        ] + (type == .postgres ? [documentsOfOtherMonths] : [])
    }

    private static let documentsOfOtherMonths =
        "CREATE TABLE documents_other PARTITION OF documents DEFAULT"

    private static func ledgerTables(_ type: Dialect) -> [String] {
        [
            factsTable(named: "facts", type),
            """
            CREATE TABLE purchases (
                app \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text) NOT NULL,
                account_token \(type.text),
                timeline \(type.bytes) NOT NULL,
                \(checkColumns(type)),
                \(toldColumns(type)),
                PRIMARY KEY (app, environment, purchase)
            ) \(type.strict)
            """,
            // None serves a search by the key, which says nothing of these columns.
            "CREATE INDEX purchases_by_account_token "
                + "ON purchases (app, account_token, environment) WHERE account_token IS NOT NULL",
            "CREATE INDEX purchases_by_due "
                + "ON purchases (app, environment, due_at_ms) WHERE due_at_ms IS NOT NULL",
            "CREATE INDEX purchases_by_turn "
                + "ON purchases (app, turns_at_ms) WHERE turns_at_ms IS NOT NULL",
        ]
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
        ) \(type.strictByKey)
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
            ) \(type.strictByKey)
            """,
            """
            CREATE TABLE customer_ids (
                app \(type.text) NOT NULL,
                id \(type.text) NOT NULL CHECK (length(id) > 0),
                customer \(type.text) NOT NULL,
                since_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, id),
                FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
            ) \(type.strictByKey)
            """,
            "CREATE INDEX customer_ids_by_customer "
                + "ON customer_ids (app, customer, since_ms, id)",
            // One row a purchase: it belongs to one customer at most.
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
            ) \(type.strictByKey)
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
            ) \(type.strictByKey)
            """,
            "CREATE INDEX keys_by_hash ON keys (hash)",
        ]
    }
}
