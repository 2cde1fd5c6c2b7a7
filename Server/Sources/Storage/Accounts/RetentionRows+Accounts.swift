import Ledger

/// The moments before which rows about sign-ins have expired.
package struct SignInExpiry: Hashable, Sendable {
    package var now: Instant
    /// Sessions that were last used before this moment have ended.
    package var sessionsUsed: Instant
    /// Failed attempts from before this moment no longer count.
    package var failures: Instant
    /// Networks that were last used before this moment no longer count as known.
    package var places: Instant

    package init(now: Instant, sessionsUsed: Instant, failures: Instant, places: Instant) {
        self.now = now
        self.sessionsUsed = sessionsUsed
        self.failures = failures
        self.places = places
    }
}

extension RetentionRows {
    /// Deletes rows about sign-ins that have expired: sessions, links, failed attempts, networks,
    /// and used sign-ins. Returns how many it deleted. Idempotent.
    ///
    /// - Parameter limit: the maximum number of rows of each kind.
    package func deleteExpired(
        _ expiry: SignInExpiry, limit: Int
    ) throws(StorageFailure) -> Int {
        let kinds: [(table: String, key: String, column: String, moment: Instant)] = [
            ("operator_sessions", "session", "until_ms", expiry.now),
            ("operator_sessions", "session", "used_at_ms", expiry.sessionsUsed),
            ("operator_links", "link", "until_ms", expiry.now),
            ("sign_in_failures", "subject", "last_at_ms", expiry.failures),
            ("sign_in_places", "(operator, network)", "used_at_ms", expiry.places),
            ("used_sign_ins", "sign_in", "until_ms", expiry.now),
        ]
        var count = 0
        for (table, key, column, moment) in kinds {
            let columns = key.filter { $0 != "(" && $0 != ")" }
            count += try connection.run(
                "DELETE FROM \(table) WHERE app = '' AND \(key) IN (SELECT \(columns) "
                    + "FROM \(table) WHERE app = '' AND \(column) <= $1 LIMIT $2)",
                [.integer(moment.milliseconds), .integer(Int64(limit))])
        }
        return count
    }
}
