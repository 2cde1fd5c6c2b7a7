import Ledger

extension SignInRows {
    /// Whether an operator has signed in from a network since a moment.
    package func hasSignedIn(
        _ name: String, from network: String, since moment: Instant
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT used_at_ms FROM sign_in_places "
                + "WHERE app = '' AND operator = $1 AND network = $2 AND used_at_ms >= $3",
            [.text(name), .text(network), .integer(moment.milliseconds)]
        ).isEmpty
    }

    /// Records that an operator has signed in from a network. Deletes the operator's networks that
    /// were last used before a moment. If more networks than a maximum number remain, also deletes
    /// the longest unused ones. Idempotent.
    package func record(
        of name: String, from network: String, at now: Instant, since moment: Instant,
        max count: Int
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO sign_in_places (app, operator, network, used_at_ms) "
                + "VALUES ('', $1, $2, $3) ON CONFLICT (app, operator, network) "
                + "DO UPDATE SET used_at_ms = excluded.used_at_ms",
            [.text(name), .text(network), .integer(now.milliseconds)])
        let kept = try connection.rows(
            "SELECT network, used_at_ms FROM sign_in_places WHERE app = '' AND operator = $1 "
                + "ORDER BY used_at_ms DESC, network", [.text(name)]
        ) { row throws(StorageFailure) in (network: try row.text(), usedAt: try row.instant()) }
        for (index, place) in kept.enumerated() {
            guard index >= count || place.usedAt < moment else { continue }
            try connection.run(
                "DELETE FROM sign_in_places WHERE app = '' AND operator = $1 AND network = $2",
                [.text(name), .text(place.network)])
        }
    }
}
