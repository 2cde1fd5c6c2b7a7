extension Schema {
    /// Sums of movements, so that no report reads millions of rows. They are derived from
    /// `money_movements`.
    static func moneySumTables(_ type: Dialect) -> [String] {
        [sumTable(type), changeTable(type), sumFillTable(type)]
    }

    /// Sums of the movements that are known now, by day and by month, for each division by itself.
    /// `first_day` is counted from 1970-01-01, in the owner's time zone. Currency and part are
    /// empty if documents do not say them. `movements` is the number of movements.
    private static func sumTable(_ type: Dialect) -> String {
        """
        CREATE TABLE money_sums (
            app \(type.text) NOT NULL,
            environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
            division \(type.text) NOT NULL,
            span \(type.text) NOT NULL CHECK (span IN ('day', 'month')),
            first_day \(type.integer) NOT NULL,
            kind \(type.text) NOT NULL,
            currency \(type.text) NOT NULL,
            part \(type.text) NOT NULL,
            movements \(type.integer) NOT NULL,
            gross \(type.integer) NOT NULL,
            refunded \(type.integer) NOT NULL,
            tax \(type.integer) NOT NULL,
            commission \(type.integer) NOT NULL,
            mrr \(type.integer) NOT NULL,
            payments \(type.integer) NOT NULL,
            active \(type.integer) NOT NULL,
            trials \(type.integer) NOT NULL,
            grace \(type.integer) NOT NULL,
            retry \(type.integer) NOT NULL,
            not_renewing \(type.integer) NOT NULL,
            mrr_tax \(type.integer) NOT NULL,
            mrr_commission \(type.integer) NOT NULL,
            mrr_of_four_weeks \(type.integer) NOT NULL,
            contracted \(type.integer) NOT NULL,
            promised \(type.integer) NOT NULL,
            PRIMARY KEY
                (app, environment, division, span, first_day, kind, currency, part)
        ) \(type.strictWithoutRowID)
        """
    }

    /// What purchases changed since they were last added to `money_sums`.
    private static func changeTable(_ type: Dialect) -> String {
        """
        CREATE TABLE money_changes (
            app \(type.text) NOT NULL,
            environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
            purchase \(type.text) NOT NULL,
            known_at_ms \(type.integer) NOT NULL,
            changes \(type.bytes) NOT NULL,
            PRIMARY KEY (app, environment, purchase, known_at_ms)
        ) \(type.strictWithoutRowID)
        """
    }

    /// Up to which purchase the movements of an app are in `money_sums`; null when all are.
    /// `layout` says how the sums are made.
    private static func sumFillTable(_ type: Dialect) -> String {
        """
        CREATE TABLE money_sum_fills (
            app \(type.text) NOT NULL PRIMARY KEY,
            layout \(type.integer) NOT NULL,
            environment \(type.text),
            purchase \(type.text),
            filled \(type.integer) NOT NULL
        ) \(type.strict)
        """
    }

    /// Finds the movements of a kind in the order of time, so that the first of millions can be
    /// listed. SQLite adds the rest of the key by itself; PostgreSQL sorts the few of one moment.
    package static let movementsByKind =
        "CREATE INDEX money_movements_by_kind ON money_movements "
        + "(app, environment, kind, day, at_ms)"

    static let movementKindIndexes = [movementsByKind, "DROP INDEX money_movements_by_day"]
}
