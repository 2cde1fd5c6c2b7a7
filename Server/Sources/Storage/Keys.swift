import Ledger

/// What a key may do.
package enum KeyKind: String, Hashable, Sendable {
    /// Shipped within apps (`pk_…`): reads and posts for one customer at a time.
    case app
    /// Kept on servers (`sk_…`).
    case secret
}

/// Whom a key lets in.
package struct KeyHolder: Hashable, Sendable {
    package var app: AppID
    package var kind: KeyKind

    package init(app: AppID, kind: KeyKind) {
        self.app = app
        self.kind = kind
    }
}

extension StoreTransaction {
    /// Keeps a key by its SHA-256. Harmless to repeat.
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

    /// Whose a key is, by its SHA-256.
    package func key(
        hash: [UInt8]
    ) throws(StorageFailure) -> KeyHolder? {
        let rows = try connection.rows("SELECT app, kind FROM keys WHERE hash = $1", [.bytes(hash)])
        guard let row = rows.first else { return nil }
        guard let kind = KeyKind(rawValue: try row.text(1)) else {
            throw StorageFailure("unknown kind of key")
        }
        return KeyHolder(app: AppID(rawValue: try row.text(0)), kind: kind)
    }

    package func keyCount(of app: AppID) throws(StorageFailure) -> Int {
        let rows = try connection.rows(
            "SELECT count(*) FROM keys WHERE app = $1", [.text(app.rawValue)])
        return Int(try rows[0].integer(0))
    }
}
