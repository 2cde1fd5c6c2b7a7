extension Schema {
    /// Says of each erasure how its id is hashed: 1 is under the app's key, 0 is the plain hash
    /// that earlier versions wrote. A server of such a version that is still running writes 0.
    static func erasureKinds(_ type: Dialect) -> [String] {
        ["ALTER TABLE erasures ADD COLUMN is_keyed \(type.integer) NOT NULL DEFAULT 0"]
    }
}
