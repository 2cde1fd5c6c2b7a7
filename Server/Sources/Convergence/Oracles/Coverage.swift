import Simulator

/// The cases that a proof must have reached at least once. A proof says nothing about a case that
/// it has not reached.
package enum Coverage {
    /// A proof with at least this many seeds must reach every case.
    package static let fullCoverageSeeds = 500

    /// The names of the cases that a proof must reach: every row of the lifecycle table, every
    /// fault, every point at which a server can crash, and others.
    package static let expected: [String] =
        LifecycleRow.allCases.map { "row \($0.rawValue)" } + faults + ours + eras

    /// The names of the cases about client eras: each era, the milestones of a subscription in each
    /// era, and uses of the older APIs.
    private static let eras: [String] =
        ClientEra.allCases.map { "speech \($0.rawValue)" }
        + ClientEra.allCases.flatMap { speech in
            Trial.Milestone.allCases.map { "\(speech.rawValue): \($0.rawValue)" }
        } + [
            "version 1 notification recorded", "verifyReceipt responded", "receipt posted",
            "transaction receipt posted", "receipt posted after the update",
            "forged version 1 notification rejected", "damaged receipt rejected",
            "difference excused in a legacy world",
        ]

    private static let faults: [String] =
        NotificationFault.allCases.map { "notification \($0.rawValue)" }
        + APIFault.allCases.map { "API \($0.rawValue)" }
        + DeviceFault.allCases.map { "device \($0.rawValue)" }
        + FaultFamily.allCases.map { "family \($0.rawValue)" }

    private static let ours: [String] =
        ServerProcess.Step.allCases.map(\.rawValue) + [
            "server stopped", "server started again", "clock skewed", "race",
            "no server when a notification arrived", "notification repeated",
            "notification response 400",
            "lost notification backfilled", "notification swallowed",
            "swallowed notification found", "whole history read", "response came too late",
            "history was incomplete", "post lost", "post rejected", "held open",
            "open after its end, not reported", "shut although paid, not reported",
            "everything was received", "documents in another order",
            "documents compared with their rows", "purchase by a special customer",
            "theft rejected", "customer erased", "alias by a thief refused",
            "copy refused to a device", "copy shared with a device", "copy refused to a person",
            "purchase taken by a copy", "taken purchase won back", "person signed in",
            "product named that is not listed", "act in a group", "seats bought",
            "seats compared", "planned seats compared", "member has access",
        ]

    /// The expected entries that were never reached.
    package static func missing(from tally: Tally) -> [String] {
        expected.filter { tally[$0] == 0 }
    }
}

// MARK: - Proofs with overrides

extension Coverage {
    /// The cases that a proof with overrides must still reach. Cases that depend on an overridden
    /// value are excluded: for example, customers without acts, or with few days, do not reach
    /// every lifecycle row.
    package static func required(of narrowing: Proof.PlanOverrides) -> [String] {
        guard narrowing != Proof.PlanOverrides() else { return expected }
        let spoken = narrowing.clientEra.map { [$0] } ?? ClientEra.allCases
        let reachable =
            spoken.map { "speech \($0.rawValue)" } + rows(of: narrowing) + faultNames(of: narrowing)
        return expected.filter(Set(reachable).contains)
    }

    /// The required entries that were never reached.
    package static func missing(
        from tally: Tally, of narrowing: Proof.PlanOverrides
    ) -> [String] {
        required(of: narrowing).filter { tally[$0] == 0 }
    }

    /// A scripted customer covers its row even in a trial without other customers and acts. All
    /// other rows are covered only if customers reach them at random.
    private static func rows(of narrowing: Proof.PlanOverrides) -> [String] {
        guard narrowing.families == nil, hasModernStorms(narrowing) else { return [] }
        var rows = ScriptedCase.rows
        if let turn = narrowing.turn { rows = rows.filter { $0.rawValue == turn } }
        if narrowing.accounts == nil && narrowing.acts == nil {
            rows += LifecycleRow.allCases.filter { !ScriptedCase.rows.contains($0) }
        }
        return rows.map { "row \($0.rawValue)" }
    }

    /// Faults occur with any number of customers, but some faults need a scripted customer. If
    /// options chose the faults, it is only certain that each chosen fault was switched on.
    private static func faultNames(of narrowing: Proof.PlanOverrides) -> [String] {
        let families = narrowing.families ?? Set(FaultFamily.allCases)
        guard narrowing.families == nil, narrowing.turn == nil, hasModernStorms(narrowing) else {
            return families.map { "family \($0.rawValue)" }
        }
        let isAsDrawn = narrowing.accounts == nil && narrowing.acts == nil
        return isAsDrawn ? faults + ours : faults
    }

    /// Whether all or most trials use the modern APIs, and have the length that follows from their
    /// seed.
    private static func hasModernStorms(_ narrowing: Proof.PlanOverrides) -> Bool {
        narrowing.days == nil && (narrowing.clientEra == nil || narrowing.clientEra == .modern)
    }
}
