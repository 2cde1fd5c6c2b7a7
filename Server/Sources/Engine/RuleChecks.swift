import Ledger
import Synchronization

/// The apps for which this process has compared its configuration with the configuration that was
/// used last. Each app is compared only once, so that two servers with different configurations do
/// not undo each other's work forever.
final class RuleChecks: Sendable {
    private let begun = Mutex<Set<AppID>>([])

    func isDone(_ app: AppID) -> Bool { begun.withLock { $0.contains(app) } }

    func markDone(_ app: AppID) { begun.withLock { _ = $0.insert(app) } }
}
