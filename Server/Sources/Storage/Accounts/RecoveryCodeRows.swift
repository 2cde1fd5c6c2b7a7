import Ledger

/// The recovery codes of operators, of which only keyed hashes are stored.
package struct RecoveryCodeRows: RowGroup {
    package let tx: DatabaseSession

    /// Replaces all recovery codes of an operator.
    ///
    /// - Parameter hashes: 32 bytes each.
    package func replace(
        of name: String, with hashes: [[UInt8]], at now: Instant
    ) throws(StorageFailure) {
        try delete(of: name)
        try connection.runEach(
            "INSERT INTO operator_recovery_codes (app, operator, code, created_at_ms) "
                + "VALUES ('', $1, $2, $3)",
            hashes.map { [.text(name), .bytes($0), .integer(now.milliseconds)] })
    }

    /// Uses a code up. Returns false if the operator has no such code, or has used it before.
    package func use(
        _ hash: [UInt8], of name: String, at now: Instant
    ) throws(StorageFailure) -> Bool {
        try connection.run(
            "UPDATE operator_recovery_codes SET used_at_ms = $1 "
                + "WHERE app = '' AND operator = $2 AND code = $3 AND used_at_ms IS NULL",
            [.integer(now.milliseconds), .text(name), .bytes(hash)]) == 1
    }

    /// The number of codes that an operator has not used.
    package func countUnused(of name: String) throws(StorageFailure) -> Int {
        try connection.firstRow(
            "SELECT count(*) FROM operator_recovery_codes "
                + "WHERE app = '' AND operator = $1 AND used_at_ms IS NULL", [.text(name)]
        ) { row throws(StorageFailure) in try row.count() } ?? 0
    }

    /// Deletes all recovery codes of an operator. Idempotent.
    package func delete(of name: String) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM operator_recovery_codes WHERE app = '' AND operator = $1", [.text(name)])
    }
}
