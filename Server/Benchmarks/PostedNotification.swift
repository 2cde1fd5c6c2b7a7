import Engine
import Ledger
import Storage
import StorageSQLite

/// The rows of one notification, as the engine passes them to the database.
struct PostedNotification: Sendable {
    private var document: StoredDocument
    private var facts: [Fact]

    init(_ number: Int, period: Int = 0, _ maker: DocumentMaker, app: AppID) throws {
        let subject = DocumentMaker.Subject(number: number, period: period)
        (document, facts) = try maker.notificationRows(subject, app: app)
    }

    func write(to store: Database) async throws {
        let attested = DocumentWithFacts(document, facts)
        guard try await store.record(attested, by: DocumentRecorder.recorder) else {
            throw BenchFailure("a document was recorded twice")
        }
    }

    /// Makes an in-memory database, to find out which rows are written.
    static func scratch() async throws -> SQLiteDriver {
        let scratch = try SQLiteDriver.inMemory()
        try await Database(scratch).migrate(at: DocumentMaker.now.milliseconds)
        return scratch
    }

    /// Returns the rows that the engine writes for posts, in order. They are captured from an
    /// in-memory database that has all earlier posts.
    static func rows(
        of posts: [PostedNotification], in scratch: SQLiteDriver
    ) async throws -> [WrittenRow] {
        let log = WriteLog()
        let store = Database(RecordingDatabase(scratch, log))
        for post in posts { try await post.write(to: store) }
        return log.rows
    }
}
