extension Schema {
    /// The epochs of the logs, from the second on: each restore from a backup begins one. Events
    /// from before any restore belong to the first epoch, which has no row and no name.
    ///
    /// The row of the app '' stands for every app that had no log when the epoch began, including
    /// apps that the restored backup does not contain. The step is idempotent.
    static func logEpochTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE IF NOT EXISTS log_epochs (
                app \(type.text) NOT NULL,
                number \(type.integer) NOT NULL,
                name \(type.text) NOT NULL,
                after_sequence \(type.integer) NOT NULL,
                began_at_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, number)
            ) \(type.strictWithoutRowID)
            """
        ]
    }
}
