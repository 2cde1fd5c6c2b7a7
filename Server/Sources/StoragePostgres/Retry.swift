import Storage

/// Whether to run a failed transaction again, and after what pause.
enum Retry: Hashable, Sendable {
    case again(afterSeconds: Double)
    case giveUp

    /// The maximum number of runs of a transaction if a constraint is violated. If a row
    /// unexpectedly exists or is missing, the cause may be another transaction that has just
    /// committed. PostgreSQL reports the violated constraint if it detects the violation before it
    /// detects the conflict. When the closure runs again, it reads the changed rows and decides
    /// anew. If the cause is an error in this program, the failure remains.
    static let constraintRunsMax = 3
    /// The maximum number of runs of a transaction during an outage. With the pauses below, these
    /// runs take about eight seconds, which is enough for a restart or the promotion of a standby.
    static let outageRunsMax = 14
    /// The time in seconds after which a transaction is no longer run again during an outage.
    /// Needed for a host that drops every packet, where each attempt takes the whole connection
    /// timeout.
    static let outageSecondsMax = 10.0

    static let conflictPauseSecondsMax = 0.1
    static let outagePauses = ExponentialBackoff(first: .milliseconds(50), longest: .seconds(1))

    /// Decides what to do after a failed run.
    ///
    /// - Parameter runs: how often the transaction was run.
    /// - Parameter conflictRunsMax: how often the transaction may be run because of conflicts.
    /// - Parameter seconds: the time since the first run began. During an outage, the time since
    ///   the outage began, if that is longer.
    /// - Parameter jitter: 0 ..< 1, so that transactions that collided do not collide again.
    static func decision(
        after failure: StorageFailure, runs: Int, of conflictRunsMax: Int = WriteMode.runsMax,
        seconds: Double, jitter: Double
    ) -> Retry {
        switch failure.kind {
        case .conflict where runs < conflictRunsMax:
            .again(afterSeconds: min(0.001 * Double(runs), conflictPauseSecondsMax) * jitter)
        case .constraint where runs < constraintRunsMax:
            .again(afterSeconds: 0.001 * jitter)
        case .unavailable where PostgresFailure.isLasting(failure): .giveUp
        case .unavailable where runs < outageRunsMax && seconds < outageSecondsMax:
            .again(afterSeconds: outagePauseSeconds(after: runs) * (0.5 + jitter / 2))
        case .busy, .conflict, .unavailable, .constraint, .erased, .needsSerializable, .other:
            .giveUp
        }
    }

    /// The pause before the next run during an outage, in seconds. The first pause is zero, because
    /// often only this connection was lost.
    private static func outagePauseSeconds(after runs: Int) -> Double {
        outagePauses.delay(after: runs - 1) / .seconds(1)
    }
}
