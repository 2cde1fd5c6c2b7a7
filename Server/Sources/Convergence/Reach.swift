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
            "documents beside their rows",
        ]

    /// Of these, what was never come to.
    package static func missing(from tally: Tally) -> [String] { all.filter { tally[$0] == 0 } }
}
