import Storage

/// Whether a failed transaction is run again, and after which pause.
enum Retry: Hashable, Sendable {
    case again(afterSeconds: Double)
    case giveUp

    /// Runs of one transaction that others keep coming between. From the second on it runs alone.
    static let conflictRunsMax = 60
    /// A row that is there already, or not there, may be the work of a transaction that committed a
    /// moment ago: PostgreSQL tells of it as a broken constraint where the statement ran into the
    /// row before the conflict was seen. Run again, the closure reads that row and decides anew.
    /// Where it is our own mistake the failure stays.
    static let constraintRunsMax = 3
    /// With the pauses below, about eight seconds: a restart, or a standby's promotion.
    static let outageRunsMax = 14
    /// A host that swallows every packet takes its whole time to fail, each run: then time ends it.
    static let outageSecondsMax = 10.0

    static let conflictPauseSecondsMax = 0.1
    static let outagePauses = DoublingPauses(first: .milliseconds(50), longest: .seconds(1))

    /// - Parameter runs: how often the transaction was run.
    /// - Parameter seconds: since the first of them began; where nobody could connect and that is
    ///   longer, since the server is away.
    /// - Parameter jitter: 0 ..< 1, so that those who collided do not collide again.
    static func step(
        after failure: StorageFailure, runs: Int, seconds: Double, jitter: Double
    ) -> Retry {
        switch failure.kind {
        case .conflict where runs < conflictRunsMax:
            .again(afterSeconds: min(0.001 * Double(runs), conflictPauseSecondsMax) * jitter)
        case .constraint where runs < constraintRunsMax:
            .again(afterSeconds: 0.001 * jitter)
        case .unavailable where PostgresFailure.isLasting(failure): .giveUp
        case .unavailable where runs < outageRunsMax && seconds < outageSecondsMax:
            .again(afterSeconds: outagePauseSeconds(after: runs) * (0.5 + jitter / 2))
        case .busy, .conflict, .unavailable, .constraint, .erased, .other: .giveUp
        }
    }

    /// None the first time: often only this connection was lost.
    private static func outagePauseSeconds(after runs: Int) -> Double {
        outagePauses.pause(after: runs - 1) / .seconds(1)
    }
}
