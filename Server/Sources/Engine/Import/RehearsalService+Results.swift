import AppStoreFormats
import Ledger
import Rehearsal
import Storage

/// The signed summary of a rehearsal.
package struct RehearsalStatement: Hashable, Sendable {
    /// The number of differences that have one cause.
    package struct Cause: Hashable, Sendable {
        package var name: String
        package var count: Int64
        /// What the cause means.
        package var sentence: String
        /// What to do about the cause before the switch.
        package var remedy: String
    }

    /// RevenueCat's id of the project.
    package var project: String
    package var from: Instant
    package var to: Instant
    package var customers: Int64
    /// The number of entitlements that were open in at least one of the systems.
    package var entitlements: Int64
    package var differences: Int64
    package var unexplained: Int64
    /// Whether all customers were compared.
    package var isComplete: Bool
    /// The causes that were found, and `unexplained` even if it was not found.
    package var causes: [Cause]
    /// The number of cases in which the switch would end access.
    package var loses: Int64
    /// The number of cases in which the switch would open access.
    package var gains: Int64

    /// Returns nil if a member is missing.
    init?(_ claims: JSON) {
        guard let project = claims["revenuecat_project"]?.string,
            let from = claims["from"]?.string.flatMap({ Instant($0) }),
            let to = claims["to"]?.string.flatMap({ Instant($0) }),
            let customers = claims["customers"]?.integer,
            let entitlements = claims["entitlements"]?.integer,
            let differences = claims["differences"]?.integer,
            let unexplained = claims["unexplained"]?.integer,
            let loses = claims["loses"]?.integer, let gains = claims["gains"]?.integer
        else { return nil }
        self.project = project
        (self.from, self.to) = (from, to)
        (self.customers, self.entitlements) = (customers, entitlements)
        (self.differences, self.unexplained) = (differences, unexplained)
        isComplete = claims["complete"] == .bool(true)
        causes = RehearsalCause.allCases.compactMap { cause in
            let count = claims["causes"]?[cause.rawValue]?.integer ?? 0
            guard count > 0 || cause == .unexplained else { return nil }
            return Cause(
                name: cause.rawValue, count: count, sentence: cause.sentence,
                remedy: cause.remedy)
        }
        (self.loses, self.gains) = (loses, gains)
    }
}

/// A rehearsal whose result is stored.
package struct RecordedRehearsal: Hashable, Sendable {
    package var endedAt: Instant
    /// Nil if no key of the app verifies the stored summary. In that case, somebody has changed it.
    package var statement: RehearsalStatement?
}

// The results of rehearsals, for the dashboard.
extension RehearsalService {
    /// Stores the result of a rehearsal, and replaces the differences of the previous rehearsal.
    /// Does not change customers. Idempotent. If a customer was erased since the rehearsal began,
    /// no difference is stored, because the customer may be in any of them.
    ///
    /// - Parameters:
    ///   - signed: the signed summary.
    ///   - differences: the lines of the report, in its order. Only the first
    ///     ``Storage/RehearsalRows/differencesMax`` are stored.
    package func record(
        _ signed: String, begunAt: Instant, endedAt: Instant, _ differences: [StoredDifference],
        of app: AppID,
        in environment: Environment
    ) async throws(EngineFailure) {
        let rehearsal = StoredRehearsal(endedAt: endedAt, signed: signed)
        let differences = Array(differences.prefix(RehearsalRows.differencesMax))
        try await context.transaction { tx in
            let isErased = try tx.erasedIDs.exist(since: begunAt, in: app)
            try tx.rehearsals.record(
                rehearsal, isErased ? [] : differences, of: app, in: environment)
        }
    }

    /// The stored rehearsals of an app, the latest rehearsal first.
    package func recorded(
        of app: AppID, in environment: Environment
    ) async throws(EngineFailure) -> [RecordedRehearsal] {
        let stored = try await context.read { tx in
            try tx.rehearsals.all(of: app, in: environment)
        }
        var recorded: [RecordedRehearsal] = []
        for one in stored {
            let claims = try await verify(one.signed, of: app)
            recorded.append(
                RecordedRehearsal(
                    endedAt: one.endedAt, statement: claims.flatMap(RehearsalStatement.init)))
        }
        return recorded
    }

    /// The stored differences of the last rehearsal, in the order of its report. Empty if a
    /// customer was erased after the rehearsal.
    ///
    /// - Parameter cause: returns only the differences with this cause; nil returns all.
    package func differences(
        of app: AppID, in environment: Environment, cause: String?
    ) async throws(EngineFailure) -> [StoredDifference] {
        try await context.read { tx in
            try tx.rehearsals.differences(of: app, in: environment, cause: cause)
        }
    }
}
