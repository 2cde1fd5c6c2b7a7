import Ledger

/// How one movement, or all movements before a moment, change the numbers of subscriptions.
package struct StandingChange: Hashable, Sendable {
    package var at: Instant
    package var storefront: String?
    package var active: Int64
    package var trials: Int64
    package var grace: Int64
    package var retry: Int64
}

extension MovementRows {
    /// The numbers of subscriptions in production at a moment, and every change of these numbers
    /// within the span of time that begins at that moment. Uses the movements as they are known
    /// now.
    package func standingChanges(
        of app: AppID, in span: Range<Instant>
    ) throws(StorageFailure) -> [StandingChange] {
        let known =
            "environment = 'production' AND replaced_at_ms IS NULL AND at_ms < $2"
        let sums = ["active", "trials", "grace", "retry"]
        let before = try connection.rows(
            "SELECT min(at_ms), storefront, "
                + sums.map { "CAST(sum(\($0)) AS BIGINT)" }.joined(separator: ", ")
                + " FROM money_movements WHERE app = $1 AND \(known) GROUP BY storefront",
            [.text(app.rawValue), .integer(span.lowerBound.milliseconds)])
        let within = try connection.rows(
            "SELECT at_ms, storefront, \(sums.joined(separator: ", ")) FROM money_movements "
                + "WHERE app = $1 AND \(known) AND at_ms >= $3 "
                + "AND (active <> 0 OR trials <> 0 OR grace <> 0 OR retry <> 0) ORDER BY at_ms",
            [
                .text(app.rawValue), .integer(span.upperBound.milliseconds),
                .integer(span.lowerBound.milliseconds),
            ])
        return try (before + within).read { row throws(StorageFailure) in
            StandingChange(
                at: try row.instant(),
                storefront: try row.optionalText(), active: try row.integer(),
                trials: try row.integer(), grace: try row.integer(), retry: try row.integer())
        }
    }
}
