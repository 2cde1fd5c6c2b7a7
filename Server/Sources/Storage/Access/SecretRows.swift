import Ledger

/// The secrets of an app, each by its name.
package struct SecretRows: RowGroup {
    package let tx: DatabaseSession

    /// A secret of an app by its name. Returns nil if the app has no such secret.
    package func find(
        _ name: String, of app: AppID
    ) throws(StorageFailure) -> [UInt8]? {
        try connection.firstRow(
            "SELECT secret FROM secrets WHERE app = $1 AND name = $2",
            [.text(app.rawValue), .text(name)]
        ) { row throws(StorageFailure) in try row.bytes() }
    }

    /// Stores a secret, unless there is already one with that name.
    package func add(
        _ secret: [UInt8], _ name: String, of app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO secrets (app, name, secret, created_at_ms) VALUES ($1, $2, $3, $4) "
                + "ON CONFLICT (app, name) DO NOTHING",
            [.text(app.rawValue), .text(name), .bytes(secret), .integer(now.milliseconds)])
    }
}
