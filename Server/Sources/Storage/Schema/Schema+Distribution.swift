// The location of each table on a PostgreSQL that the Citus extension spreads over several
// machines.
//
// All rows of an app are on one machine, so a transaction about one app has all the guarantees of
// a single PostgreSQL. Every key begins with the app, and so does every reference.

extension Database {
    /// The version of the Citus extension, if the database has it.
    package func citusVersion() async throws -> String? {
        guard driver.dialect == .postgres else { return nil }
        return try await driver.read { connection in
            try connection.firstText(
                "SELECT extversion FROM pg_extension WHERE extname = 'citus'", [])
        }
    }
}

extension Schema {
    /// Where a table's rows are, on a distributed PostgreSQL.
    package struct Placement: Hashable, Sendable {
        package enum Kind: Hashable, Sendable {
            /// All rows of one app are on one machine.
            case byApp
            /// All machines have all rows. The text says why.
            case everywhere(String)
            /// The rows are on the coordinator only. The text says why.
            case coordinator(String)
        }

        package var table: String
        package var kind: Kind
    }

    /// Every table. Tables that others refer to come first.
    package static let placements: [Placement] =
        ([
            "documents", "customers", "headers", rebuiltFacts, "facts", "purchases",
            "customer_ids", "customer_attributes", "links", "shares", "blocks", "transfers",
            "grants", "erasures",
            "removed_ids", "token_keys", "secrets", "debits", "wallets", "reminders",
            "term_watches", "reminder_rules", "consumption_questions", "consumption_consents",
            "consumption_uses", "events", "pending_events", "logs", "app_stores", "forwards",
            "forward_bodies", "imports", "rehearsals", "rehearsal_differences", "purchase_origins",
            "webhooks",
            "webhook_deliveries", "webhook_attempts", "money_transactions", "money_movements",
            "money_subscriptions", "money_fills", "money_sums", "money_cohorts", "money_changes",
            "money_sum_fills", "shown_entitlements", "shown_wallet_entries", "showings",
            "apple_reports", "audit_entries", "seat_claims", "seat_invitations",
            "seat_groups", "seat_unclaims",
        ].map { Placement(table: $0, kind: .byApp) }) + [
            Placement(
                table: "keys",
                kind: .everywhere(
                    "A key is looked up by its hash, before its app is known. There are few.")),
            Placement(
                table: "log_epochs",
                kind: .everywhere(
                    "A row without an app stands for every app. There is one for each restore.")),
        ]
        + [
            "operators", "operator_roles", "operator_sessions", "operator_links",
            "operator_identities", "operator_passkeys", "operator_recovery_codes", "used_sign_ins",
            "sign_in_failures", "sign_in_places",
        ].map {
            Placement(
                table: $0,
                kind: .everywhere(
                    "An operator belongs to the server, not to an app. There are few."))
        }
        + ["alerts", "alert_channels", "alert_messages"].map {
            Placement(
                table: $0,
                kind: .everywhere("An alert concerns the server and all its apps. There are few."))
        } + [
            Placement(
                table: "write_probes",
                kind: .everywhere(
                    "One row that belongs to no app. Writing it shows that all machines can write.")
            ),
            Placement(
                table: "recordings",
                kind: .coordinator("It has no rows. It is only locked, by all servers.")),
            Placement(
                table: "schema_versions",
                kind: .coordinator("It is about the database, not about an app.")),
        ]

    /// The statements that distribute an existing database, once. The database must have the Citus
    /// extension, and the coordinator must know its machines.
    ///
    /// A distributed table and a table that is not distributed cannot refer to each other. So all
    /// references are removed first, and restored from their definitions at the end.
    package static var distribution: [String] {
        let first = "documents"
        return [
            """
            CREATE TEMPORARY TABLE removed_references AS
            SELECT conrelid::regclass::text AS table_name, conname,
                pg_get_constraintdef(oid) AS definition
            FROM pg_constraint
            WHERE contype = 'f' AND conparentid = 0
                AND connamespace = current_schema()::regnamespace
            """,
            eachReference("'ALTER TABLE %s DROP CONSTRAINT %I', r.table_name, r.conname"),
        ]
            + placements.compactMap { placement in
                switch placement.kind {
                case .byApp where placement.table == first:
                    "SELECT create_distributed_table('\(first)', 'app')"
                case .byApp:
                    "SELECT create_distributed_table('\(placement.table)', 'app', "
                        + "colocate_with => '\(first)')"
                case .everywhere(let reason):
                    "-- \(reason)\nSELECT create_reference_table('\(placement.table)')"
                case .coordinator(let reason):
                    "-- \(placement.table) stays on the coordinator. \(reason)\nSELECT 1"
                }
            } + [
                eachReference(
                    "'ALTER TABLE %s ADD CONSTRAINT %I %s', r.table_name, r.conname, r.definition"),
                "DROP TABLE removed_references",
            ]
    }

    private static func eachReference(_ arguments: String) -> String {
        """
        DO $$
        DECLARE r record;
        BEGIN
            FOR r IN SELECT * FROM removed_references LOOP
                EXECUTE format(\(arguments));
            END LOOP;
        END
        $$
        """
    }
}
