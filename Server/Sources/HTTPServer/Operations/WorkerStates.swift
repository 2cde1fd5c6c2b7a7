import Ledger
import Synchronization

/// When each kind of background work last succeeded in this process, and how many times it failed.
package final class WorkerStates: Sendable {
    package struct State: Hashable, Sendable {
        /// The end of the last successful batch, including a batch that found nothing to do. Nil if
        /// there was none.
        package var succeededAt: Instant?
        package var failures = 0
    }

    private let states = Mutex<[String: State]>([:])

    package init() {}

    /// Records a batch that succeeded.
    ///
    /// - Parameters:
    ///   - work: a name from the program's code, so that there are only few names.
    ///   - now: the time of the machine's clock.
    package func recordSuccess(of work: String, at now: Instant) {
        states.withLock { $0[work, default: State()].succeededAt = now }
    }

    package func recordFailure(of work: String) {
        states.withLock { $0[work, default: State()].failures += 1 }
    }

    /// The name and the state of each kind of work, in a fixed order.
    package var all: [(work: String, state: State)] {
        states.withLock { $0 }.sorted { $0.key < $1.key }.map { (work: $0.key, state: $0.value) }
    }
}
