import Ledger

/// Where an API key is used: in apps, or on servers.
package enum KeyKind: String, Hashable, Sendable {
    /// A key that is embedded in apps (`pk_…`). An app key reads and posts for one customer at a
    /// time.
    case app
    /// A key that is used on servers only (`sk_…`).
    case secret
}

/// The stored data about an API key. The key itself is not stored.
package struct StoredKey: Hashable, Sendable {
    package var app: AppID
    package var hash: [UInt8]
    package var kind: KeyKind
    /// The purpose of the key, as described by the person who created it.
    package var name: String
    package var createdAt: Instant
    /// What a secret key may be used for. Ignored for app keys.
    package var scopes: Set<KeyScope>
    /// The key is refused from this time on. Nil if the key has no end.
    package var until: Instant?
    /// When the key was last used. This time may be up to an hour too early. Nil if no use was
    /// recorded.
    package var lastUsedAt: Instant?

    package init(
        app: AppID, hash: [UInt8], kind: KeyKind, name: String, createdAt: Instant,
        scopes: Set<KeyScope> = [.admin], until: Instant? = nil, lastUsedAt: Instant? = nil
    ) {
        self.app = app
        self.hash = hash
        self.kind = kind
        self.name = name
        self.createdAt = createdAt
        self.scopes = scopes
        self.until = until
        self.lastUsedAt = lastUsedAt
    }
}

/// The time of one use of a key.
package struct KeyUse: Hashable, Sendable {
    /// The minimum time between two recorded uses of one key.
    package static let secondsBetween: Int64 = 3600

    package var app: AppID
    package var hash: [UInt8]
    package var at: Instant

    /// A use of a key now. Returns nil if a use within the last hour is already recorded.
    package init?(of key: StoredKey, at now: Instant) {
        if let last = key.lastUsedAt, last > Self.latestReplaced(by: now) { return nil }
        self.app = key.app
        self.hash = key.hash
        self.at = now
    }

    fileprivate static func latestReplaced(by now: Instant) -> Instant {
        Instant(milliseconds: now.milliseconds - secondsBetween * 1000)
    }
}

/// The API keys of an app.
package struct KeyRows: RowGroup {
    package let tx: DatabaseSession

    private static let keyColumns =
        "app, hash, kind, name, created_at_ms, scopes, until_ms, last_used_at_ms"

    /// Stores a key by its SHA-256. Idempotent.
    package func add(
        hash: [UInt8], app: AppID, kind: KeyKind, name: String,
        scopes: Set<KeyScope> = [.admin], until: Instant? = nil, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO keys (app, hash, kind, name, created_at_ms, scopes, until_ms) "
                + "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (app, hash) DO NOTHING",
            [
                .text(app.rawValue), .bytes(hash), .text(kind.rawValue), .text(name),
                .integer(now.milliseconds), .text(scopes.text), .integer(until?.milliseconds),
            ])
    }

    /// Looks up a key by its SHA-256.
    package func find(hash: [UInt8]) throws(StorageFailure) -> StoredKey? {
        try connection.firstRow(
            "SELECT \(Self.keyColumns) FROM keys WHERE hash = $1", [.bytes(hash)], Self.storedKey)
    }

    /// All keys of an app, oldest first.
    package func all(of app: AppID) throws(StorageFailure) -> [StoredKey] {
        try connection.rows(
            "SELECT \(Self.keyColumns) FROM keys WHERE app = $1 ORDER BY created_at_ms, hash",
            [.text(app.rawValue)], Self.storedKey)
    }

    private static func storedKey(_ row: inout ColumnReader) throws(StorageFailure) -> StoredKey {
        StoredKey(
            app: try row.app(), hash: try row.bytes(),
            kind: try KeyKind.stored(try row.text()), name: try row.text(),
            createdAt: try row.instant(), scopes: try Set<KeyScope>.stored(try row.text()),
            until: try row.optionalInstant(), lastUsedAt: try row.optionalInstant())
    }

    /// Records that a key was used, unless a use within the last hour is recorded. Idempotent.
    package func record(_ use: KeyUse) throws(StorageFailure) {
        try connection.run(
            "UPDATE keys SET last_used_at_ms = $1 WHERE app = $2 AND hash = $3 "
                + "AND (last_used_at_ms IS NULL OR last_used_at_ms <= $4)",
            [
                .integer(use.at.milliseconds), .text(use.app.rawValue), .bytes(use.hash),
                .integer(KeyUse.latestReplaced(by: use.at).milliseconds),
            ])
    }

    /// Deletes a key. Idempotent.
    package func remove(hash: [UInt8], of app: AppID) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM keys WHERE app = $1 AND hash = $2", [.text(app.rawValue), .bytes(hash)])
    }

    package func count(of app: AppID) throws(StorageFailure) -> Int {
        Int(
            try connection.number(
                "SELECT count(*) FROM keys WHERE app = $1", [.text(app.rawValue)]))
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
