import CSQLite

/// Interrupts statements of a connection that take too long. By then no request waits for the
/// result, and the server must be able to stop.
///
/// Sendable for the same reason as ``SQLiteConnection``, to which it belongs.
final class StatementLimit: @unchecked Sendable {
    /// How many instructions of SQLite's virtual machine run between two reads of the clock. These
    /// instructions take some milliseconds.
    private static let instructions: Int32 = 100_000

    private let longest: Duration
    /// When the running statement began. Nil until the clock is read for the statement. Most
    /// statements end before that.
    private var beganAt: ContinuousClock.Instant?

    init(seconds: Double, of connection: OpaquePointer) {
        longest = .seconds(seconds)
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
        let now = ContinuousClock.now
        guard let beganAt else {
            beganAt = now
            return false
        }
        return now - beganAt > longest
    }
}
