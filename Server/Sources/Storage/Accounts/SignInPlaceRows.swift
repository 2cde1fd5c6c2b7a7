import Ledger

extension DatabaseSession {
    /// Whether an owner has signed in from a network since a moment.
    package func hasSignedIn(
        _ owner: String, from network: String, since moment: Instant
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT used_at_ms FROM sign_in_places "
                + "WHERE app = '' AND owner = $1 AND network = $2 AND used_at_ms >= $3",
            [.text(owner), .text(network), .integer(moment.milliseconds)]
        ).isEmpty
    }

    /// Records that an owner has signed in from a network. Deletes the owner's networks that were
    /// last used before a moment, and those beyond a number, the longest unused first. Idempotent.
    package func recordSignIn(
        of owner: String, from network: String, at now: Instant, since moment: Instant,
        max count: Int
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO sign_in_places (app, owner, network, used_at_ms) "
                + "VALUES ('', $1, $2, $3) ON CONFLICT (app, owner, network) "
                + "DO UPDATE SET used_at_ms = excluded.used_at_ms",
            [.text(owner), .text(network), .integer(now.milliseconds)])
        let kept = try connection.rows(
            "SELECT network, used_at_ms FROM sign_in_places WHERE app = '' AND owner = $1 "
                + "ORDER BY used_at_ms DESC, network", [.text(owner)])
        for (index, row) in kept.enumerated() {
            let usedAt = try row.integer(1)
            guard index >= count || usedAt < moment.milliseconds else { continue }
            try connection.run(
                "DELETE FROM sign_in_places WHERE app = '' AND owner = $1 AND network = $2",
                [.text(owner), .text(try row.text(0))])
        }
    }
}
