import Ledger

/// What an API key permits.
package enum KeyKind: String, Hashable, Sendable {
    /// Embedded in apps (`pk_…`): reads and posts for one customer at a time.
    case app
    /// Used on servers only (`sk_…`).
    case secret
}

/// The app and permissions that a key belongs to.
package struct KeyHolder: Hashable, Sendable {
    package var app: AppID
    package var kind: KeyKind

    package init(app: AppID, kind: KeyKind) {
        self.app = app
        self.kind = kind
    }
}

/// A stored API key: everything but the key itself.
package struct StoredKey: Hashable, Sendable {
    package var app: AppID
    package var hash: [UInt8]
    package var kind: KeyKind
    /// The purpose of the key, as described by the person who created it.
    package var name: String
    package var createdAt: Instant

    package init(app: AppID, hash: [UInt8], kind: KeyKind, name: String, createdAt: Instant) {
        self.app = app
        self.hash = hash
        self.kind = kind
        self.name = name
        self.createdAt = createdAt
    }
}

extension DatabaseSession {
    /// Stores a key by its SHA-256. Idempotent.
    package func addKey(
        hash: [UInt8], app: AppID, kind: KeyKind, name: String, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO keys (app, hash, kind, name, created_at_ms) VALUES ($1, $2, $3, $4, $5) "
                + "ON CONFLICT (app, hash) DO NOTHING",
            [
                .text(app.rawValue), .bytes(hash), .text(kind.rawValue), .text(name),
                .integer(now.milliseconds),
            ])
    }

    /// Looks up a key by its SHA-256.
    package func key(
        hash: [UInt8]
    ) throws(StorageFailure) -> KeyHolder? {
        let rows = try connection.rows("SELECT app, kind FROM keys WHERE hash = $1", [.bytes(hash)])
        guard let row = rows.first else { return nil }
        return KeyHolder(
            app: AppID(rawValue: try row.text(0)), kind: try KeyKind.stored(try row.text(1)))
    }

    /// All keys of an app, oldest first.
    package func keys(of app: AppID) throws(StorageFailure) -> [StoredKey] {
        let rows = try connection.rows(
            "SELECT hash, kind, name, created_at_ms FROM keys WHERE app = $1 "
                + "ORDER BY created_at_ms, hash", [.text(app.rawValue)])
        var keys: [StoredKey] = []
        for row in rows {
            keys.append(
                StoredKey(
                    app: app, hash: try row.bytes(0), kind: try KeyKind.stored(try row.text(1)),
                    name: try row.text(2),
                    createdAt: Instant(milliseconds: try row.integer(3))))
        }
        return keys
    }

    /// Deletes a key. Idempotent.
    package func removeKey(hash: [UInt8], of app: AppID) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM keys WHERE app = $1 AND hash = $2", [.text(app.rawValue), .bytes(hash)])
    }

    package func keyCount(of app: AppID) throws(StorageFailure) -> Int {
        let rows = try connection.rows(
            "SELECT count(*) FROM keys WHERE app = $1", [.text(app.rawValue)])
        return Int(try rows[0].integer(0))
    }
}

extension KeyKind {
    /// Parses a kind as stored in the database.
    fileprivate static func stored(_ text: String) throws(StorageFailure) -> KeyKind {
        guard let kind = KeyKind(rawValue: text) else {
            throw StorageFailure("unknown kind of key: use a newer version of Perennial")
        }
        return kind
    }
}
