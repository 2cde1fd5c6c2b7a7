import CSQLite
import Synchronization

/// Interrupts statements of a connection that take too long. After that time no request waits for
/// the result any more, and a long statement would prevent the server from stopping.
///
/// This class is Sendable for the same reason as ``SQLiteConnection``, to which an instance
/// belongs.
final class StatementLimit: @unchecked Sendable {
    /// How many instructions of SQLite's virtual machine run between two reads of the clock. These
    /// instructions take some milliseconds.
    private static let instructions: Int32 = 100_000

    /// The time after which a statement is interrupted. Nil for no limit of time.
    private let longest: Duration?
    private let cancellation: Cancellation?
    /// When the running statement began. Nil until the clock is read for the statement. Most
    /// statements end before the clock is read.
    private var beganAt: ContinuousClock.Instant?

    /// Returns nil if there is neither a limit of time nor a cancellation.
    init?(seconds: Double?, _ cancellation: Cancellation?, of connection: OpaquePointer) {
        guard seconds != nil || cancellation != nil else { return nil }
        longest = seconds.map { .seconds($0) }
        self.cancellation = cancellation
        sqlite3_progress_handler(
            connection, Self.instructions,
            { pointer in
                guard let pointer else { return 0 }
                let limit = Unmanaged<StatementLimit>.fromOpaque(pointer).takeUnretainedValue()
                return limit.isOver ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    func beginStatement() { beganAt = nil }

    private var isOver: Bool {
        if cancellation?.isRequested == true { return true }
        guard let longest else { return false }
        let now = ContinuousClock.now
        guard let beganAt else {
            beganAt = now
            return false
        }
        return now - beganAt > longest
    }
}

/// Asks a statement that runs on another thread to end.
final class Cancellation: Sendable {
    private let requested = Atomic<Bool>(false)

    var isRequested: Bool { requested.load(ordering: .relaxed) }

    func request() { requested.store(true, ordering: .relaxed) }
}
