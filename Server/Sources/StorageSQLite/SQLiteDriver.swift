import Dispatch
import Storage
import Synchronization

/// A database in one file, with a write-ahead log. Every commit is synced to disk before it
/// returns.
///
/// Writes run one at a time on a serial queue, because they wait for the disk. A read runs on the
/// caller's thread: handing a few microseconds of work to another thread and back costs more than
/// the work itself. Scans run on separate queues, so that they never hold a thread that other
/// requests need.
package final class SQLiteDriver: DatabaseDriver {
    /// How long a writer waits for another process before it fails. The writers in the queue fail,
    /// too.
    package static let busyMilliseconds = 5_000
    /// The maximum number of pooled readers. There cannot be more active readers than threads.
    package static let readersMax = 16
    /// The maximum number of concurrent scans. Further scans wait.
    package static let scansMax = 2
    /// A reader's statement that takes longer than this is interrupted.
    package static let statementSecondsMax = 60.0
    /// The size of a page of the file, in bytes. A document has about 1600 bytes, so smaller pages
    /// would leave a quarter of each page empty.
    package static let pageBytes = 8192
    /// The size of a page of a database in memory, in bytes. A page is copied before it is changed,
    /// and nothing is written to disk, so small pages are better.
    private static let pageBytesInMemory = 1024
    /// The size of each connection's page cache, in KiB.
    package static let cacheKibibytes = 16_384

    private struct State {
        /// The connection for writes. Nil after the database was closed.
        var writer: SQLiteConnection?
        /// The readers that are not in use.
        var readers: [SQLiteConnection] = []
        /// An object, such as a lock, that is released when the database is closed.
        var companion: (any Sendable)?
        /// The number of scans so far, by which they are distributed over the queues.
        var scans = 0
    }

    private let path: String
    private let busyMilliseconds: Int
    private let statementSecondsMax: Double
    private let state: Mutex<State>
    private let writing = DispatchQueue(label: "perennial.sqlite")
    private let scanning = (0..<scansMax).map { DispatchQueue(label: "perennial.sqlite.\($0)") }

    package let dialect = Dialect.sqlite

    /// Opens a file, and creates it if necessary.
    ///
    /// - Parameter busyMilliseconds: how long a writer waits for another process; shorter in tests.
    /// - Parameter statementSecondsMax: the limit of a reader's statement; shorter in tests.
    /// - Parameter companion: an object, such as a lock, that is kept until the database is closed.
    /// - Throws: ``StorageFailure`` if the file cannot be opened or written, or if it belongs to
    ///   another program. In the last case, the file is not changed.
    package init(
        path: String, busyMilliseconds: Int = busyMilliseconds,
        statementSecondsMax: Double = statementSecondsMax,
        keeping companion: (any Sendable)? = nil
    ) throws(StorageFailure) {
        self.path = path
        self.busyMilliseconds = busyMilliseconds
        self.statementSecondsMax = statementSecondsMax
        let writer = try SQLiteConnection(path: path, settings: Self.settings(busyMilliseconds))
        guard try !Database.belongsToAnotherProgram(writer) else {
            throw StorageFailure("it belongs to another program: none of its tables is Perennial's")
        }
        try writer.set(path == Self.inMemoryPath ? Self.memorySettings : Self.fileSettings)
        state = Mutex(State(writer: writer, companion: companion))
    }

    /// A database in memory, for tests. The database is deleted when the driver is released.
    package static func inMemory() throws(StorageFailure) -> SQLiteDriver {
        try SQLiteDriver(path: inMemoryPath)
    }

    private static let inMemoryPath = ":memory:"

    /// The page size and the journal mode are stored in the file. If `synchronous` were lower than
    /// FULL, a power failure could lose the last commits. Deleted content is overwritten, because
    /// it may be data of an erased person.
    private static let fileSettings = [
        "page_size = \(pageBytes)", "journal_mode = WAL", "synchronous = FULL",
        "secure_delete = ON",
    ]

    /// The settings of a database in memory, where deleted content need not be overwritten.
    private static let memorySettings = [
        "page_size = \(pageBytesInMemory)", "secure_delete = OFF",
    ]

    private static func settings(_ busyMilliseconds: Int) -> [String] {
        [
            "busy_timeout = \(busyMilliseconds)", "foreign_keys = ON",
            "cache_size = -\(cacheKibibytes)",
        ]
    }

    package func write<Value: Sendable>(
        _ mode: WriteMode, _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        guard path != Self.inMemoryPath else { return try runInline(for: .writing, body) }
        return try await runOnQueue(for: .writing, body)
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        // An in-memory database has only one connection.
        guard path != Self.inMemoryPath else { return try runInline(for: .reading, body) }
        let reader = try checkOutReader()
        defer { returnReader(reader) }
        return try reader.transaction(for: .reading, body)
    }

    package func scan<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        guard path != Self.inMemoryPath else { return try runInline(for: .reading, body) }
        let number = state.withLock { state in
            state.scans &+= 1
            return state.scans
        }
        return try await withCheckedThrowingContinuation { continuation in
            scanning[number % Self.scansMax].async { [self] in
                continuation.resume(
                    with: Result {
                        let reader = try checkOutReader()
                        defer { returnReader(reader) }
                        return try reader.transaction(for: .reading, body)
                    })
            }
        }
    }

    /// Runs a transaction of a database in memory on the calling thread, one transaction at a time.
    /// A database in memory waits for no disk, so a switch of threads would take longer than the
    /// work.
    private func runInline<Value>(
        for purpose: SQLiteConnection.Purpose, _ body: (any Connection) throws -> Value
    ) throws -> Value {
        try writing.sync {
            guard let writer = state.withLock({ $0.writer }) else { throw Self.closed }
            return try writer.transaction(for: purpose, body)
        }
    }

    private func runOnQueue<Value: Sendable>(
        for purpose: SQLiteConnection.Purpose,
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            writing.async { [self] in
                continuation.resume(
                    with: Result {
                        guard let writer = state.withLock({ $0.writer }) else { throw Self.closed }
                        return try writer.transaction(for: purpose, body)
                    })
            }
        }
    }

    /// Moves the frames of the write-ahead log into the database file, between two writes. Then the
    /// next write may begin the log again.
    ///
    /// - Parameter body: called before the move, while no write of this process runs. The closure
    ///   must be fast. If it returns nil, nothing is moved.
    /// - Returns: the value of the body, the number of frames in the log, and the number of moved
    ///   frames.
    package func checkpoint<Value: Sendable>(
        after body: @escaping @Sendable () throws -> Value?
    ) async throws -> (value: Value, frames: Int64, moved: Int64)? {
        try await withCheckedThrowingContinuation { continuation in
            writing.async { [self] in
                continuation.resume(
                    with: Result {
                        guard let writer = state.withLock({ $0.writer }) else { throw Self.closed }
                        guard let value = try body() else { return nil }
                        let (frames, moved) = try writer.checkpoint()
                        return (value, frames, moved)
                    })
            }
        }
    }

    private func checkOutReader() throws -> SQLiteConnection {
        let free = try state.withLock { state in
            guard state.writer != nil else { throw Self.closed }
            return state.readers.popLast()
        }
        return try free
            ?? SQLiteConnection(
                path: path, settings: Self.settings(busyMilliseconds) + ["query_only = ON"],
                statementSecondsMax: statementSecondsMax)
    }

    private func returnReader(_ reader: SQLiteConnection) {
        state.withLock { state in
            guard state.writer != nil, state.readers.count < Self.readersMax else { return }
            state.readers.append(reader)
        }
    }

    private static let closed = StorageFailure("SQLite: the database is closed", kind: .unavailable)

    /// Waits for the running write, and closes the database. Idempotent.
    package func close() {
        writing.sync {
            state.withLock { state in
                state.readers = []
                state.writer = nil
                state.companion = nil
            }
        }
    }
}
