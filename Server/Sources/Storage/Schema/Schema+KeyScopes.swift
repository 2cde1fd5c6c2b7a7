extension Schema {
    /// What a key may be used for, until when, and when it was last used. Earlier keys have no
    /// scopes stored, which means `admin`.
    static func keyScopeColumns(_ type: Dialect) -> [String] {
        [
            "ALTER TABLE keys ADD COLUMN scopes \(type.text)",
            "ALTER TABLE keys ADD COLUMN until_ms \(type.integer)",
            "ALTER TABLE keys ADD COLUMN last_used_at_ms \(type.integer)",
        ]
    }
}
