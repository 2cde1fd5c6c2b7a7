import Simulator

/// What a proof must have come to at least once, or it says nothing about it.
package enum Reach {
    /// From so many seeds on nothing may be left out.
    package static let seedsForAll = 20_000

    /// Every turn of the table, every fault, and every point at which a server can die.
    package static let all: [String] =
        LifecycleRow.allCases.map { "row \($0.rawValue)" } + faults + ours + speeches

    /// Each speech, and in each what a life is made of.
    private static let speeches: [String] =
        Speech.allCases.map { "speech \($0.rawValue)" }
        + Speech.allCases.flatMap { speech in
            Trial.Sight.allCases.map { "\(speech.rawValue): \($0.rawValue)" }
        } + [
            "notification of version 1 kept", "verifyReceipt answered", "receipt posted",
            "transaction receipt posted", "receipt posted after the update",
            "forged notification of version 1 refused", "damaged receipt refused",
            "not heard in the older language",
        ]

    private static let faults: [String] =
        NotificationFault.allCases.map { "notification \($0.rawValue)" }
        + APIFault.allCases.map { "API \($0.rawValue)" }
        + DeviceFault.allCases.map { "device \($0.rawValue)" }
        + FaultFamily.allCases.map { "family \($0.rawValue)" }

    private static let ours: [String] =
        Power.Step.allCases.map(\.rawValue) + [
            "server stopped", "server started again", "clock skewed", "race",
            "no server when a notification came", "notification repeated",
            "notification answered with 400",
            "lost notification found again", "notification swallowed",
            "swallowed notification found", "whole history read", "answer came too late",
            "history was silent", "post lost", "post refused", "held open",
            "open although over, not heard", "shut although paid, not heard",
            "everything was heard", "documents in another order",
            "documents beside their rows", "bought by a person of the plan",
            "theft refused", "customer erased",
        ]

    /// Of these, what was never come to.
    package static func missing(from tally: Tally) -> [String] { all.filter { tally[$0] == 0 } }
}

// MARK: - Narrowed proofs

extension Reach {
    /// What a narrowed proof must come to all the same. Whatever depends on something that was
    /// chosen by hand is left out: lives without acts, or of few days, do not take every turn.
    package static func demanded(of narrowing: Proof.Narrowing) -> [String] {
        guard narrowing != Proof.Narrowing() else { return all }
        let spoken = narrowing.speech.map { [$0] } ?? Speech.allCases
        let reachable =
            spoken.map { "speech \($0.rawValue)" } + rows(of: narrowing) + struck(of: narrowing)
        return all.filter(Set(reachable).contains)
    }

    /// Of what is demanded, what was never come to.
    package static func missing(
        from tally: Tally, of narrowing: Proof.Narrowing
    ) -> [String] {
        demanded(of: narrowing).filter { tally[$0] == 0 }
    }

    /// A customer who is called to a turn takes it without any others, and without acts. All other
    /// turns happen to customers by chance.
    private static func rows(of narrowing: Proof.Narrowing) -> [String] {
        guard narrowing.families == nil, hasModernStorms(narrowing) else { return [] }
        var rows = Calling.rows
        if let turn = narrowing.turn { rows = rows.filter { $0.rawValue == turn } }
        if narrowing.accounts == nil && narrowing.acts == nil {
            rows += LifecycleRow.allCases.filter { !Calling.rows.contains($0) }
        }
        return rows.map { "row \($0.rawValue)" }
    }

    /// Faults strike however many customers there are; some need what a customer is called to. Of
    /// faults that were chosen it is certain only that they were switched on.
    private static func struck(of narrowing: Proof.Narrowing) -> [String] {
        let families = narrowing.families ?? Set(FaultFamily.allCases)
        guard narrowing.families == nil, narrowing.turn == nil, hasModernStorms(narrowing) else {
            return families.map { "family \($0.rawValue)" }
        }
        let isAsDrawn = narrowing.accounts == nil && narrowing.acts == nil
        return isAsDrawn ? faults + ours : faults
    }

    /// Whether worlds speak as today, all or most of them, and last as long as drawn.
    private static func hasModernStorms(_ narrowing: Proof.Narrowing) -> Bool {
        narrowing.days == nil && (narrowing.speech == nil || narrowing.speech == .modern)
    }
}
