import Ledger
import Synchronization

/// The failures of requests for an app's missed notifications, and the pauses after them. Each
/// process counts only its own failures. The pauses do not apply to other queries, because one
/// failing endpoint must not stop other queries.
final class BackfillBackoff: Sendable {
    struct Key: Hashable {
        var app: AppID
        var environment: Environment
    }

    private struct Pause {
        var failures = 0
        var until: Instant
    }

    private static let backoff = ExponentialBackoff(first: .seconds(15), longest: .seconds(600))

    private let pauses = Mutex<[Key: Pause]>([:])

    func isOver(_ key: Key, at now: Instant) -> Bool {
        pauses.withLock { $0[key].map { $0.until <= now } ?? true }
    }

    var isAnyActive: Bool { pauses.withLock { !$0.isEmpty } }

    func clear(_ key: Key) { pauses.withLock { $0[key] = nil } }

    /// Records a failure and extends the pause: exponentially, or until a time that the App Store
    /// named.
    func recordFailure(_ key: Key, at now: Instant, until moment: Instant?) {
        pauses.withLock { pauses in
            var pause = pauses[key] ?? Pause(until: now)
            pause.failures += 1
            pause.until = moment ?? now + Self.backoff.delay(after: pause.failures)
            pauses[key] = pause
        }
    }
}
