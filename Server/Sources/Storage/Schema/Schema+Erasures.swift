extension Schema {
    /// Records how the id of each erasure is hashed: 1 is an HMAC under the app's key, 0 is the
    /// plain hash of earlier versions. A server of an earlier version that is still running writes
    /// 0.
    static func erasureKeyingColumns(_ type: Dialect) -> [String] {
        ["ALTER TABLE erasures ADD COLUMN is_keyed \(type.integer) NOT NULL DEFAULT 0"]
    }
}
