import Ledger
import Storage
import StorageSQLite

/// The rows of one notification, as the engine passes them to the store.
struct Post: Sendable {
    private var document: StoredDocument
    private var facts: [Fact]

    init(_ number: Int, _ maker: DocumentMaker, app: AppID) throws {
        let subject = DocumentMaker.Subject(number: number, period: 0)
        (document, facts) = try maker.notificationRows(subject, app: app)
    }

    func write(to store: Store) async throws {
        guard try await store.keep(AttestedDocument(document, facts)) else {
            throw BenchFailure("a document was recorded twice")
        }
    }

    /// An in-memory database, for finding out what is written.
    static func scratch() async throws -> SQLiteDatabase {
        let scratch = try SQLiteDatabase.inMemory()
        try await Store(scratch).migrate(at: DocumentMaker.now.milliseconds)
        return scratch
    }

    /// Returns the rows that the store writes for posts, in order. They are captured from an
    /// in-memory database that has all earlier posts.
    static func rows(
        of posts: [Post], in scratch: SQLiteDatabase
    ) async throws -> [WrittenRow] {
        let log = WriteLog()
        let store = Store(RecordingDatabase(scratch, log))
        for post in posts { try await post.write(to: store) }
        return log.rows
    }
}
