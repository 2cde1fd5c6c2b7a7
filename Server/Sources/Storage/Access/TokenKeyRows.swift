import Ledger

/// A key for signing entitlement tokens.
package struct StoredTokenKey: Hashable, Sendable {
    /// The key id in tokens and in the published key set.
    package var id: String
    package var app: AppID
    /// The P-256 private key as a raw scalar. The key is as confidential as the database itself.
    package var privateKey: [UInt8]
    package var createdAt: Instant
    /// When another key replaced this key for signing. Nil for the key that signs now, and for a
    /// prepared key.
    package var retiredAt: Instant?
    /// Whether the key is published already, but signs only after the next rotation.
    package var isPrepared: Bool

    package init(
        id: String, app: AppID, privateKey: [UInt8], createdAt: Instant, retiredAt: Instant? = nil,
        isPrepared: Bool = false
    ) {
        self.id = id
        self.app = app
        self.privateKey = privateKey
        self.createdAt = createdAt
        self.retiredAt = retiredAt
        self.isPrepared = isPrepared
    }
}

/// The keys with which an app signs customer tokens.
package struct TokenKeyRows: RowGroup {
    package let tx: DatabaseSession

    /// All keys of an app, oldest first.
    package func all(of app: AppID) throws(StorageFailure) -> [StoredTokenKey] {
        let keys = try connection.rows(
            "SELECT key_id, private_key, created_at_ms, retired_at_ms, is_prepared "
                + "FROM token_keys WHERE app = $1", [.text(app.rawValue)]
        ) { row throws(StorageFailure) in
            StoredTokenKey(
                id: try row.text(), app: app, privateKey: try row.bytes(),
                createdAt: try row.instant(), retiredAt: try row.optionalInstant(),
                isPrepared: try row.flag())
        }
        return keys.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    /// Makes a prepared or new key the signing key, and retires the present signing key. Not
    /// idempotent.
    package func rotate(to key: StoredTokenKey, at now: Instant) throws(StorageFailure) {
        try connection.run(
            "UPDATE token_keys SET retired_at_ms = $1 "
                + "WHERE app = $2 AND retired_at_ms IS NULL AND is_prepared = 0",
            [.integer(now.milliseconds), .text(key.app.rawValue)])
        if key.isPrepared {
            try connection.run(
                "UPDATE token_keys SET is_prepared = 0 WHERE app = $1 AND key_id = $2",
                [.text(key.app.rawValue), .text(key.id)])
        } else {
            try insert(key)
        }
    }

    package func insert(_ key: StoredTokenKey) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO token_keys (app, key_id, private_key, created_at_ms, is_prepared) "
                + "VALUES ($1, $2, $3, $4, $5)",
            [
                .text(key.app.rawValue), .text(key.id), .bytes(key.privateKey),
                .integer(key.createdAt.milliseconds), .integer(key.isPrepared ? 1 : 0),
            ])
    }
}
