import Ledger

/// The signed summary of a rehearsal of the move from RevenueCat.
package struct StoredRehearsal: Hashable, Sendable {
    /// When the comparison ended. With the app and the environment, this identifies the rehearsal.
    package var endedAt: Instant
    /// The summary: a compact JWS.
    package var signed: String

    package init(endedAt: Instant, signed: String) {
        self.endedAt = endedAt
        self.signed = signed
    }
}

/// One difference that a rehearsal found, as its report shows it.
package struct StoredDifference: Hashable, Sendable {
    package var cause: String
    package var customer: CustomerID
    package var entitlement: EntitlementID
    package var aspect: String
    package var effect: String
    /// What this server says, in words.
    package var ours: String
    /// What RevenueCat says, in words.
    package var theirs: String
    package var evidenceHere: String
    package var evidenceThere: String

    package init(
        cause: String, customer: CustomerID, entitlement: EntitlementID, aspect: String,
        effect: String, ours: String, theirs: String, evidenceHere: String, evidenceThere: String
    ) {
        self.cause = cause
        self.customer = customer
        self.entitlement = entitlement
        self.aspect = aspect
        self.effect = effect
        self.ours = ours
        self.theirs = theirs
        self.evidenceHere = evidenceHere
        self.evidenceThere = evidenceThere
    }
}

/// The tables `rehearsals` and `rehearsal_differences`: the results of the latest rehearsals, and
/// the differences that the last rehearsal found.
package struct RehearsalRows: RowGroup {
    package let tx: DatabaseSession

    /// The maximum number of summaries that stay stored for an app and environment. The latest
    /// summaries stay.
    package static let summariesMax = 20
    /// The maximum number of stored differences of the last rehearsal. The first differences of its
    /// report are stored.
    package static let differencesMax = 2_000

    private static let columns = [
        "cause", "customer", "entitlement", "aspect", "effect", "ours", "theirs", "evidence_here",
        "evidence_there",
    ]
    private static let insertDifference = Insertion.statement(
        into: "rehearsal_differences", ["app", "environment", "number"] + columns)

    /// Stores a rehearsal, and replaces the differences of the previous rehearsal. Idempotent.
    package func record(
        _ rehearsal: StoredRehearsal, _ differences: [StoredDifference], of app: AppID,
        in environment: Environment
    ) throws(StorageFailure) {
        let place: [Value] = [.text(app.rawValue), .text(environment.rawValue)]
        try connection.run(
            "INSERT INTO rehearsals (app, environment, ended_at_ms, signed) "
                + "VALUES ($1, $2, $3, $4) ON CONFLICT (app, environment, ended_at_ms) "
                + "DO UPDATE SET signed = excluded.signed",
            place + [.integer(rehearsal.endedAt.milliseconds), .text(rehearsal.signed)])
        try connection.run(
            "DELETE FROM rehearsals WHERE app = $1 AND environment = $2 AND ended_at_ms NOT IN "
                + "(SELECT ended_at_ms FROM rehearsals WHERE app = $1 AND environment = $2 "
                + "ORDER BY ended_at_ms DESC LIMIT $3)",
            place + [.integer(Int64(Self.summariesMax))])
        try connection.run(
            "DELETE FROM rehearsal_differences WHERE app = $1 AND environment = $2", place)
        try connection.runEach(
            Self.insertDifference,
            differences.prefix(Self.differencesMax).enumerated().map { number, difference in
                place + [.integer(Int64(number))] + Self.values(of: difference)
            })
    }

    /// The stored rehearsals of an app, the latest rehearsal first.
    package func all(
        of app: AppID, in environment: Environment
    ) throws(StorageFailure) -> [StoredRehearsal] {
        try connection.rows(
            "SELECT ended_at_ms, signed FROM rehearsals WHERE app = $1 AND environment = $2 "
                + "ORDER BY ended_at_ms DESC",
            [.text(app.rawValue), .text(environment.rawValue)]
        ) { row throws(StorageFailure) in
            StoredRehearsal(endedAt: try row.instant(), signed: try row.text())
        }
    }

    /// The stored differences of the last rehearsal, in the order of its report.
    ///
    /// - Parameter cause: returns only the differences with this cause; nil returns all.
    package func differences(
        of app: AppID, in environment: Environment, cause: String? = nil
    ) throws(StorageFailure) -> [StoredDifference] {
        try connection.rows(
            "SELECT \(Self.columns.joined(separator: ", ")) FROM rehearsal_differences "
                + "WHERE app = $1 AND environment = $2 "
                + (cause == nil ? "" : "AND cause = $3 ") + "ORDER BY number",
            [.text(app.rawValue), .text(environment.rawValue)] + (cause.map { [.text($0)] } ?? [])
        ) { row throws(StorageFailure) in
            StoredDifference(
                cause: try row.text(), customer: CustomerID(rawValue: try row.text()),
                entitlement: EntitlementID(rawValue: try row.text()), aspect: try row.text(),
                effect: try row.text(), ours: try row.text(), theirs: try row.text(),
                evidenceHere: try row.text(), evidenceThere: try row.text())
        }
    }

    /// Deletes all differences of an app. An erasure calls this function, because the evidence of
    /// one customer may contain the id of another customer. The signed summaries contain no ids,
    /// and stay.
    package func deleteDifferences(of app: AppID) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM rehearsal_differences WHERE app = $1", [.text(app.rawValue)])
    }

    private static func values(of difference: StoredDifference) -> [Value] {
        [
            .text(difference.cause), .text(difference.customer.rawValue),
            .text(difference.entitlement.rawValue), .text(difference.aspect),
            .text(difference.effect), .text(difference.ours), .text(difference.theirs),
            .text(difference.evidenceHere), .text(difference.evidenceThere),
        ]
    }
}
