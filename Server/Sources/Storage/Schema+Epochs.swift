extension Schema {
    /// The epochs of the logs, from the second on: a restore begins one. What was told before any
    /// restore is of the first epoch, which has no row and no name.
    ///
    /// The row of the app '' stands for every app that had no log when the epoch began: also for
    /// one that the restored backup does not know. Harmless to repeat.
    static func epochTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE IF NOT EXISTS log_epochs (
                app \(type.text) NOT NULL,
                number \(type.integer) NOT NULL,
                name \(type.text) NOT NULL,
                after_sequence \(type.integer) NOT NULL,
                began_at_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, number)
            ) \(type.strictByKey)
            """
        ]
    }
}
