import Simulator

/// What a proof must have reached at least once; otherwise it says nothing about it.
package enum Reach {
    /// From this many seeds on, everything must be reached.
    package static let seedsForAll = 20_000

    /// Every row of the lifecycle table, every fault, and every point at which a server can crash.
    package static let all: [String] =
        LifecycleRow.allCases.map { "row \($0.rawValue)" } + faults + ours + speeches

    /// Each client era, and in each the milestones of a subscription.
    private static let speeches: [String] =
        Speech.allCases.map { "speech \($0.rawValue)" }
        + Speech.allCases.flatMap { speech in
            Trial.Sight.allCases.map { "\(speech.rawValue): \($0.rawValue)" }
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
        Power.Step.allCases.map(\.rawValue) + [
            "server stopped", "server started again", "clock skewed", "race",
            "no server when a notification arrived", "notification repeated",
            "notification response 400",
            "lost notification backfilled", "notification swallowed",
            "swallowed notification found", "whole history read", "response came too late",
            "history was incomplete", "post lost", "post rejected", "held open",
            "open after its end, not reported", "shut although paid, not reported",
            "everything was received", "documents in another order",
            "documents compared with their rows", "purchase by a special customer",
            "theft rejected", "customer erased",
        ]

    /// The expected entries that were never reached.
    package static func missing(from tally: Tally) -> [String] { all.filter { tally[$0] == 0 } }
}

// MARK: - Proofs with overrides

extension Reach {
    /// What a proof with overrides must still reach. Everything that depends on an overridden value
    /// is excluded: for example, customers without acts, or with few days, do not reach every
    /// lifecycle row.
    package static func demanded(of narrowing: Proof.Narrowing) -> [String] {
        guard narrowing != Proof.Narrowing() else { return all }
        let spoken = narrowing.speech.map { [$0] } ?? Speech.allCases
        let reachable =
            spoken.map { "speech \($0.rawValue)" } + rows(of: narrowing) + struck(of: narrowing)
        return all.filter(Set(reachable).contains)
    }

    /// The required entries that were never reached.
    package static func missing(
        from tally: Tally, of narrowing: Proof.Narrowing
    ) -> [String] {
        demanded(of: narrowing).filter { tally[$0] == 0 }
    }

    /// A scripted customer covers its row without other customers and without acts. All other rows
    /// occur to customers at random.
    private static func rows(of narrowing: Proof.Narrowing) -> [String] {
        guard narrowing.families == nil, hasModernStorms(narrowing) else { return [] }
        var rows = Calling.rows
        if let turn = narrowing.turn { rows = rows.filter { $0.rawValue == turn } }
        if narrowing.accounts == nil && narrowing.acts == nil {
            rows += LifecycleRow.allCases.filter { !Calling.rows.contains($0) }
        }
        return rows.map { "row \($0.rawValue)" }
    }

    /// Faults occur however many customers there are; some need a scripted customer. If faults were
    /// chosen by hand, it is only certain that they were switched on.
    private static func struck(of narrowing: Proof.Narrowing) -> [String] {
        let families = narrowing.families ?? Set(FaultFamily.allCases)
        guard narrowing.families == nil, narrowing.turn == nil, hasModernStorms(narrowing) else {
            return families.map { "family \($0.rawValue)" }
        }
        let isAsDrawn = narrowing.accounts == nil && narrowing.acts == nil
        return isAsDrawn ? faults + ours : faults
    }

    /// Whether all or most worlds use the modern APIs, and last as long as derived from the seed.
    private static func hasModernStorms(_ narrowing: Proof.Narrowing) -> Bool {
        narrowing.days == nil && (narrowing.speech == nil || narrowing.speech == .modern)
    }
}
