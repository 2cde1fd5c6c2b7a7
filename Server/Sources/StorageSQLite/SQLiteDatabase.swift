import Dispatch
import Storage
import Synchronization

/// A database in one file: write-ahead log, every commit synced to the disk before it returns.
///
/// Writes take turns on a thread of their own, since they wait for the disk. A read runs where it
/// is asked for: to hand some microseconds of work to another thread and back costs more than the
/// work.
package final class SQLiteDatabase: Database {
    /// How long a writer waits for another process before it fails. Those behind it fail with it.
    package static let busyMilliseconds = 5_000
    /// Readers that are kept for the next read. No more are at work than threads that read.
    package static let readersMax = 16
    /// A document has about 1600 bytes: of smaller pages a quarter would stay empty.
    package static let pageBytes = 8192
    /// In memory a page is copied before it is changed, and nothing is written to a disk.
    private static let pageBytesInMemory = 1024
    /// Pages that each connection remembers, in KiB.
    package static let cacheKibibytes = 16_384

    private struct State {
        /// Nil once the database is closed.
        var writer: SQLiteSession?
        /// Those that nobody is reading with.
        var readers: [SQLiteSession] = []
        /// Let go of when the database is closed.
        var companion: (any Sendable)?
    }

    private let path: String
    private let busyMilliseconds: Int
    private let state: Mutex<State>
    private let writing = DispatchQueue(label: "perennial.sqlite")

    package let dialect = Dialect.sqlite

    /// Opens a file, or makes it.
    ///
    /// - Parameter busyMilliseconds: how long a writer waits for another process. Less in tests.
    /// - Parameter companion: kept until the database is closed, such as a lock.
    /// - Throws: ``StorageFailure`` where it cannot be opened or written, and where another program
    ///   has filled it: such a file stays as it is.
    package init(
        path: String, busyMilliseconds: Int = busyMilliseconds,
        keeping companion: (any Sendable)? = nil
    ) throws(StorageFailure) {
        self.path = path
        self.busyMilliseconds = busyMilliseconds
        let writer = try SQLiteSession(path: path, settings: Self.settings(busyMilliseconds))
        guard try !Store.isAnotherProgramsFile(writer) else {
            throw StorageFailure("it is another program's: it holds tables, and none of ours")
        }
        try writer.set(path == Self.inMemoryPath ? Self.memorySettings : Self.fileSettings)
        state = Mutex(State(writer: writer, companion: companion))
    }

    /// A database that is gone when it is let go of, for tests.
    package static func inMemory() throws(StorageFailure) -> SQLiteDatabase {
        try SQLiteDatabase(path: inMemoryPath)
    }

    private static let inMemoryPath = ":memory:"

    /// The pages' size and the journal's mode stay with the file. Synced in full, or the last
    /// commits might be lost when the power fails.
    private static let fileSettings = [
        "page_size = \(pageBytes)", "journal_mode = WAL", "synchronous = FULL",
    ]

    /// What is deleted need not be overwritten where no disk keeps it.
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
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        guard path != Self.inMemoryPath else { return try writeHere(for: .writing, body) }
        return try await inTurn(for: .writing, body)
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        // Such a database has one connection only.
        guard path != Self.inMemoryPath else { return try writeHere(for: .reading, body) }
        let reader = try takeReader()
        defer { giveBack(reader) }
        return try reader.transaction(for: .reading, body)
    }

    /// In its turn, too, but on the thread that asks: where there is no disk to wait for, another
    /// thread would take longer than the work.
    private func writeHere<Value>(
        for purpose: SQLiteSession.Purpose, _ body: (any Connection) throws -> Value
    ) throws -> Value {
        try writing.sync {
            guard let writer = state.withLock({ $0.writer }) else { throw Self.closed }
            return try writer.transaction(for: purpose, body)
        }
    }

    private func inTurn<Value: Sendable>(
        for purpose: SQLiteSession.Purpose,
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

    private func takeReader() throws -> SQLiteSession {
        let free = try state.withLock { state in
            guard state.writer != nil else { throw Self.closed }
            return state.readers.popLast()
        }
        return try free
            ?? SQLiteSession(
                path: path, settings: Self.settings(busyMilliseconds) + ["query_only = ON"])
    }

    private func giveBack(_ reader: SQLiteSession) {
        state.withLock { state in
            guard state.writer != nil, state.readers.count < Self.readersMax else { return }
            state.readers.append(reader)
        }
    }

    private static let closed = StorageFailure("SQLite: the database is closed", kind: .unavailable)

    /// Waits for the running write. Harmless to repeat.
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
