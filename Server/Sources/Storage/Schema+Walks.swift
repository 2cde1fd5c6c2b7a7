extension Schema {
    /// How far the App Store's history of notifications was walked, and who walks now. A column of
    /// its own: what was not delivered is asked for apart from it, and more often.
    static func walkColumns(_ type: Dialect) -> [String] {
        [
            "ALTER TABLE app_stores ADD COLUMN walked_to_ms \(type.integer)",
            "ALTER TABLE app_stores ADD COLUMN walk_lease_until_ms \(type.integer)",
            "ALTER TABLE app_stores ADD COLUMN walk_lease_holder \(type.text)",
        ]
    }
}
