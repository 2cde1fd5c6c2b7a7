import Ledger
import Storage
import StorageSQLite

/// One notification's rows, as the engine hands them to the store.
struct Post: Sendable {
    private var document: StoredDocument
    private var facts: [Fact]

    init(_ number: Int, _ maker: DocumentMaker, app: AppID) throws {
        let subject = DocumentMaker.Subject(number: number, period: 0)
        (document, facts) = try maker.notificationRows(subject, app: app)
    }

    func write(to store: Store) async throws {
        guard try await store.keep(AttestedDocument(document, facts)) else {
            throw BenchFailure("a document came twice")
        }
    }

    /// A database in memory, to learn from what is written.
    static func scratch() async throws -> SQLiteDatabase {
        let scratch = try SQLiteDatabase.inMemory()
        try await Store(scratch).migrate(at: DocumentMaker.now.milliseconds)
        return scratch
    }

    /// What the store writes for posts, in the order of writing, learnt from a database in memory
    /// that has had all earlier ones.
    static func rows(
        of posts: [Post], in scratch: SQLiteDatabase
    ) async throws -> [WrittenRow] {
        let log = WriteLog()
        let store = Store(RecordingDatabase(scratch, log))
        for post in posts { try await post.write(to: store) }
        return log.rows
    }
}
