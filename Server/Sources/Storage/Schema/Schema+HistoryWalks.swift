extension Schema {
    /// How far the App Store's notification history was walked, and which server is walking it. It
    /// has a column of its own because undelivered notifications are backfilled separately, and
    /// more often.
    static func historyWalkColumns(_ type: Dialect) -> [String] {
        [
            "ALTER TABLE app_stores ADD COLUMN walked_to_ms \(type.integer)",
            "ALTER TABLE app_stores ADD COLUMN walk_lease_until_ms \(type.integer)",
            "ALTER TABLE app_stores ADD COLUMN walk_lease_holder \(type.text)",
        ]
    }
}
