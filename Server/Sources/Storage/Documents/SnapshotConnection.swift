import Ledger
import Synchronization

// On PostgreSQL, most documents are recorded on a snapshot (`WriteMode.Isolation`). Serializable
// transactions that add rows at the end of the same index conflict nearly always if they overlap,
// because PostgreSQL tracks their reads by page. On a snapshot, two transactions conflict only if
// they change the same row.
//
// Recording on a snapshot is safe under three conditions:
//   1. A transaction on a snapshot changes the row of each purchase that its documents are about.
//      Any other transaction that changes rows of a purchase also changes the purchase's own row,
//      unless it changes only columns that a transaction on a snapshot does not read. So if two
//      transactions about one purchase overlap, the second transaction runs again, and then reads
//      everything that the first one has written.
//   2. The rows that a transaction on a snapshot reads belong to its purchases, or never change
//      while it runs. `SnapshotConnection` refuses all other tables; then the documents are
//      recorded by a serializable transaction.
//   3. A transaction that erases a customer locks out all transactions on a snapshot, because a row
//      of `erasures` belongs to no purchase.

extension Dialect {
    /// Statements that prevent an erasure of a customer from running at the same time.
    var sharedRecording: [String] {
        self == .sqlite ? [] : ["LOCK TABLE recordings IN ROW EXCLUSIVE MODE"]
    }

    /// Statements that prevent transactions that record documents on a snapshot from running at the
    /// same time.
    var excludedRecording: [String] {
        self == .sqlite ? [] : ["LOCK TABLE recordings IN SHARE MODE"]
    }
}

extension DatabaseRules {
    /// Whether a document can probably be recorded on a snapshot. If it turns out that the document
    /// cannot, the transaction runs again as a serializable transaction.
    func recordsOnSnapshot(_ attested: DocumentWithFacts) -> Bool {
        // Claims that the App Store has ended can belong to any purchase.
        guard attested.succession == nil, attested.seatUnclaim == nil else { return false }
        // A wallet's credits depend on the other purchases and the bookings of a customer.
        return wallets[attested.document.app] == nil
            || !attested.facts.contains(where: \.isAboutConsumable)
    }
}

extension Fact {
    fileprivate var isAboutConsumable: Bool {
        if case .payment(let payment) = statement { payment.kind == .consumable } else { false }
    }
}

/// A connection whose transaction runs on a snapshot, for documents. The connection refuses
/// statements about tables for which a snapshot is not sufficient.
struct SnapshotConnection: Connection {
    /// Tables whose rows belong to one purchase, or to one document, or never change.
    private static let tables: Set<Substring> = [
        "headers", "documents", "facts", "purchases", "links", "shares",
        "money_transactions", "money_movements", "money_subscriptions", "money_changes",
        "consumption_questions", "term_watches", "forwards", "forward_bodies", "pending_events",
        "erasures", "secrets", "seat_claims", "seat_groups",
    ]

    let connection: any Connection
    let statements: StatementTables

    init(_ connection: any Connection, _ statements: StatementTables) {
        (self.connection, self.statements) = (connection, statements)
    }

    var dialect: Dialect { connection.dialect }

    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row] {
        try check(sql)
        return try connection.rows(sql, values)
    }

    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int {
        try check(sql)
        return try connection.run(sql, values)
    }

    func rowsEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [[Row]] {
        try check(sql)
        return try connection.rowsEach(sql, sets)
    }

    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int] {
        try check(sql)
        return try connection.runEach(sql, sets)
    }

    private func check(_ sql: String) throws(StorageFailure) {
        let others = statements.tables(in: sql).subtracting(Self.tables).sorted()
        guard let table = others.first else { return }
        throw StorageFailure(
            "a document on a snapshot may not use \(table)", kind: .needsSerializable)
    }
}

/// Finds the tables that statements name. Each statement's text is searched only once.
final class StatementTables: Sendable {
    private static let beforeTable: Set<Substring> = ["FROM", "JOIN", "INTO", "UPDATE"]
    private static let afterUpdate: Set<Substring> = ["SET", "SKIP", "OF"]

    private let known = Mutex<[String: Set<Substring>]>([:])

    func tables(in sql: String) -> Set<Substring> {
        if let tables = known.withLock({ $0[sql] }) { return tables }
        let tables = Self.tables(in: sql)
        known.withLock { $0[sql] = tables }
        return tables
    }

    static func tables(in sql: String) -> Set<Substring> {
        var tables: Set<Substring> = []
        var isTableNext = false
        for word in sql.split(whereSeparator: { $0.isWhitespace || $0 == "(" || $0 == ")" }) {
            let name = word.prefix { $0 != "," }
            if isTableNext, name != "SELECT", !afterUpdate.contains(name) { tables.insert(name) }
            isTableNext =
                beforeTable.contains(word) || (isTableNext && name.count < word.count)
        }
        return tables
    }
}
