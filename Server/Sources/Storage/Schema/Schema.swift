/// The tables of the database.
///
/// `sqlite.sql` and `postgres.sql`, beside this file, show the present database, and a new database
/// is made from them. ``steps`` changes the databases that exist.
///
/// A row of `customers` without a row of `customer_ids` stands for an erased customer.
///
/// Primary tables, which cannot be derived from anything else: `headers`, `documents`, `customers`,
/// `customer_ids`, `customer_attributes`, `links`, `shares`, `blocks`, `transfers`, `grants`,
/// `erasures`, `removed_ids`, `seat_claims` with `seat_invitations` and `seat_unclaims`,
/// `keys`, `token_keys`, `secrets`, `debits`, `forwards` with `forward_bodies`, `webhooks` with
/// `webhook_deliveries` and `webhook_attempts`, `imports`, `rehearsals` with
/// `rehearsal_differences`, `reminders`, `purchase_origins`,
/// `apple_reports`, `operators` with `operator_roles`, `operator_sessions`, `operator_links`,
/// `operator_identities`, `operator_passkeys` and `operator_recovery_codes`, `audit_entries`,
/// `consumption_questions` with `consumption_consents` and `consumption_uses`, and the event log:
/// `events`, `pending_events`, `logs` with `log_epochs`, and the state last reported in it, which
/// is `reported_state` of each purchase and `wallets`.
///
/// Derived tables, which a rebuild computes again by way of `facts_rebuilt`: `facts`, `purchases`,
/// and `money_transactions`, `money_movements` and `money_subscriptions`, which `money_fills` fills
/// when the rules of money change; and `money_sums` and `money_cohorts` with `money_changes`, which
/// `money_sum_fills` fills. `shown_entitlements` and `shown_wallet_entries` are derived from all
/// others; `showings` contains their progress.
///
/// The following tables and columns are of neither kind. `app_stores` and the columns of
/// `purchases` that record checks with the App Store: if lost, the checks are repeated.
/// `sign_in_failures`: if lost, passwords can be tried anew. `sign_in_places`: if lost, an
/// operator's attempts to sign in count together with the attempts that strangers make with the
/// same name. `used_sign_ins`: if lost, a sign-in of the last minutes could be used again in the
/// same browser. `seat_groups`: if lost, the App Store is asked again when somebody joins.
/// `term_watches` with `reminder_rules`: if lost, every customer is examined again.
/// `alerts` with `alert_channels` and `alert_messages`: if lost, alerts about what still needs
/// attention are sent again.
///
/// `recordings` has no rows, and exists on PostgreSQL only.
///
/// Every key begins with the app, so that rows can be sharded by app. On PostgreSQL each month has
/// its own partition of `documents`.
///
/// A database may plan its statements while the tables are empty, and cache the plans. Therefore,
/// among the indexes that a statement could use, only one index begins with all the columns that
/// the statement compares.
package enum Schema {
    /// The number of the schema of the first release. Programs from before that release numbered
    /// the steps of other schemas from 1 to 43, so none of their databases can be mistaken for a
    /// database of this schema.
    static let baseline = 100
    package static let version = version(with: steps)

    /// A change of the schema after its first release.
    struct Step: Sendable {
        /// The name of the step in messages.
        var name: String
        var effect = Effect.adds
        var statements: @Sendable (Dialect) -> [String]
    }

    /// Which older programs can use a database after a step.
    package enum Effect: Hashable, Sendable {
        /// The step only adds tables, columns, indexes or views that older programs need not know.
        /// Every program that could use the database before the step can use it afterwards. A test
        /// compares this with the statements.
        case adds
        /// Programs of a schema version before the given one cannot use the database after the
        /// step: it removes or rewrites something that they use, or this version writes rows that
        /// they cannot read. The text completes the sentence “Stop them, because …”.
        case excludes(before: Int, because: String)

        fileprivate var oldestVersion: Int {
            switch self {
            case .adds: baseline
            case .excludes(let version, _): version
            }
        }
    }

    /// The changes since the first release, in order: the first has the number after ``baseline``.
    /// A released step is never changed. A new step is added at the end, and the same change is
    /// made in both SQL files, from which new databases are made. `Fixtures/databases/README.md`
    /// says how a test compares a migrated database with a new one.
    ///
    /// During an upgrade, servers of this version and of the version before it use one PostgreSQL
    /// together. So a change is made in two versions: the first version adds the new form, and can
    /// read both forms. The next version writes only the new form, or removes the old one, by a
    /// step that excludes programs from before the first of these versions. Such a step is also
    /// needed, without statements, if a version writes a new word or a new layout into a column
    /// that exists.
    static let steps: [Step] = [
        .customerAttributes, .cohorts, .rehearsals, .operatorIdentities, .alerts,
        .passkeys,
    ]

    static func version(with steps: [Step]) -> Int { baseline + steps.count }

    /// The oldest schema version whose programs can use a database to which the steps were applied.
    static func oldestVersion(after steps: some Sequence<Step>) -> Int {
        steps.map(\.effect.oldestVersion).max() ?? baseline
    }

    /// The names of the steps that migrate a database of a version to the present one, in order.
    package static func names(ofStepsAfter version: Int) -> [String] {
        steps.dropFirst(max(0, version - baseline)).map(\.name)
    }

    /// The facts that a rebuild derives from the documents, until they are compared with `facts` or
    /// replace them.
    static let rebuiltFacts = "facts_rebuilt"

    // MARK: - The files

    /// The SQL file that describes the tables, with its comments.
    package static func text(_ dialect: Dialect) -> String {
        switch dialect {
        case .sqlite: String(decoding: PackageResources.sqlite_sql, as: UTF8.self)
        case .postgres: String(decoding: PackageResources.postgres_sql, as: UTF8.self)
        }
    }

    /// The statements that make the tables of a new database.
    static func statements(_ dialect: Dialect) -> [String] {
        dialect == .sqlite ? sqliteStatements : postgresStatements
    }

    private static let sqliteStatements = statements(in: text(.sqlite))
    private static let postgresStatements = statements(in: text(.postgres))

    /// The statement that makes an index.
    package static func index(named name: String, _ dialect: Dialect) -> String {
        let found = statements(dialect).first {
            $0.split(whereSeparator: \.isWhitespace).prefix(3) == ["CREATE", "INDEX", name[...]]
        }
        guard let found else { preconditionFailure("No index has the name \(name).") }
        return found
    }

    /// Splits a file into statements. A statement ends with a line that ends with a semicolon, and
    /// comments are on separate lines.
    private static func statements(in text: String) -> [String] {
        var statements: [String] = []
        var lines: [Substring] = []
        for line in text.split(separator: "\n") where !line.hasPrefix("--") {
            lines.append(line)
            guard line.hasSuffix(";") else { continue }
            statements.append(String(lines.joined(separator: "\n").dropLast()))
            lines = []
        }
        return statements
    }
}
