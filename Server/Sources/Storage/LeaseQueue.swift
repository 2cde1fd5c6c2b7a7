import Ledger

/// A queue of work in a table. Each row is one piece of work, done by one server at a time.
///
/// A server leases due rows in one transaction, does the work outside of transactions, and records
/// the outcome in another transaction. If the server dies, the lease expires and another server
/// leases the row again, so the work must be idempotent. Due times come from the servers' clocks;
/// leases expire by the database's clock, which is the same for all servers.
///
/// To add a queue, for example of webhook deliveries:
///
/// 1. Create the table in the files of ``Schema``, and in a new step: the key, `due_at_ms` (null
///    once the work has ended), `attempts NOT NULL`, `trouble`, `lease_until_ms NOT NULL`,
///    `lease_holder`; and an index on the scope and `due_at_ms` `WHERE due_at_ms IS NOT NULL`.
/// 2. Declare the queue as a static constant, like ``forwards``, and add its plan to `PlanTests`.
/// 3. In the rows' file, insert rows in the transaction that causes the work, with
///    `lease_until_ms` 0, and wrap the functions below so that callers see values, not columns.
/// 4. In Engine, write a function that leases a batch, does the work, records each outcome, and
///    returns the size of the batch. The function decides when failed work is due again, and when
///    it is given up.
/// 5. In Program, run that function by a `Worker`.
///
/// A batch is limited by its scope and its size. The scope may be one address, and the size may be
/// limited by a pace that all servers share (``AppStoreHealth``). Rows that are leased only by
/// their key need no due time.
struct LeaseQueue: Sendable {
    let table: String
    /// The primary key.
    let key: [String]
    /// Columns whose values are equal for all work of a batch. These columns and `due` are the
    /// first columns of an index.
    var scope: [String] = []
    /// The columns that a lease returns. A lease also returns the columns of the key, after these
    /// columns.
    var columns = ""
    var due = "due_at_ms"
    /// The column with the time when work began to wait. The index of due work contains this
    /// column.
    var since = "due_at_ms"
    var leaseEnd = "lease_until_ms"
    var holder = "lease_holder"
    /// The column with the number of attempts. Nil if the queue does not count attempts in such a
    /// column.
    var attempts: String?
    /// The column with the reason of the last failure. Nil if the reason is not stored.
    var trouble: String?
    var troubleCharactersMax = 300
    /// The condition for work that can still be leased by its key, and completed.
    var unfinished = "TRUE"
    /// Whether the completion of work is recorded even if the lease was lost, because the work has
    /// been done. Only the lease holder records failures.
    var completesWithoutLease = false

    func selectDue(_ dialect: Dialect) -> String {
        let next = scope.count + 2
        return select(
            "\(Self.match(scope, from: 2)) AND \(due) <= $\(next) ORDER BY \(due) "
                + "LIMIT $\(next + 1)", dialect)
    }

    fileprivate func select(_ condition: String, _ dialect: Dialect) -> String {
        "SELECT \(columns), \(key.joined(separator: ", ")) FROM \(table) WHERE \(leaseEnd) <= $1 "
            + "AND \(condition) \(dialect.skippingLockedRows)"
    }

    /// Selects waiting work, the oldest first. Orders the work like the intended index, because on
    /// an empty table PostgreSQL could choose any index.
    ///
    /// - Parameter isDue: whether to count only due work, not everything that waits.
    func selectBacklog(isDue: Bool) -> String {
        let next = scope.count + 1
        return "SELECT count(*), min(\(since)) FROM (SELECT \(since) FROM \(table) "
            + "WHERE \(Self.match(scope)) AND \(due) \(isDue ? "<= $\(next)" : "IS NOT NULL") "
            + "ORDER BY \(due) LIMIT $\(isDue ? next + 1 : next)) AS waiting"
    }

    /// Compares columns with parameters that are numbered from the given number.
    fileprivate static func match(_ columns: some Sequence<String>, from: Int = 1) -> String {
        columns.enumerated().map { "\($1) = $\(from + $0)" }.joined(separator: " AND ")
    }
}

/// The outcome of leased work.
struct LeaseOutcome {
    fileprivate var isCompleted = false
    fileprivate var trouble: String?
    fileprivate var next: Instant?

    /// - Parameter next: when the work is due again; nil if the work is done only once.
    static func completed(next: Instant? = nil) -> Self { Self(isCompleted: true, next: next) }

    /// - Parameter next: when the work is tried again; nil if the work is given up.
    static func failed(_ trouble: String? = nil, next: Instant?) -> Self {
        Self(trouble: trouble, next: next)
    }
}

/// How much work is waiting.
package struct QueueBacklog: Hashable, Sendable {
    /// The amount of waiting work. Not counted beyond ``countMax``.
    package var count: Int
    /// The time when the oldest counted work became due or began to wait. Nil if no work is
    /// waiting.
    package var oldest: Instant?

    package static let countMax = 100_000

    package init(count: Int, oldest: Instant?) {
        self.count = count
        self.oldest = oldest
    }

    init(_ row: inout ColumnReader) throws(StorageFailure) {
        (count, oldest) = (try row.count(), try row.optionalInstant())
    }
}

/// Due work in the table of any queue, which servers lease.
package struct QueueRows: RowGroup {
    package let tx: DatabaseSession

    /// A column and its new value.
    typealias Assignment = (column: String, value: Value)

    // MARK: - Leases

    /// Leases work that is due, the longest overdue first. No other server can lease the same work
    /// until the lease expires.
    func leaseDue(
        _ queue: LeaseQueue, in scope: [Value], by now: Instant, limit: Int, for holder: String,
        lease: Duration
    ) throws(StorageFailure) -> [Row] {
        let values = scope + [.integer(now.milliseconds), .integer(Int64(limit))]
        return try self.lease(queue, queue.selectDue(dialect), values, holder, lease)
    }

    /// Leases the unfinished work whose key begins with these values, even if it is not due.
    func lease(
        _ queue: LeaseQueue, key: [Value], for holder: String, lease: Duration
    ) throws(StorageFailure) -> [Row] {
        let condition =
            "\(LeaseQueue.match(queue.key.prefix(key.count), from: 2)) AND \(queue.unfinished) "
            + "ORDER BY \(queue.key.joined(separator: ", "))"
        return try self.lease(queue, queue.select(condition, dialect), key, holder, lease)
    }

    private func lease(
        _ queue: LeaseQueue, _ select: String, _ values: [Value], _ holder: String,
        _ lease: Duration
    ) throws(StorageFailure) -> [Row] {
        let clock = try clock()
        let rows = try connection.rows(select, [.integer(clock)] + values)
        let end: [Value] = [.integer(clock + lease.wholeMilliseconds), .text(holder)]
        try connection.runEach(
            "UPDATE \(queue.table) SET \(queue.leaseEnd) = $1, \(queue.holder) = $2 "
                + "WHERE \(LeaseQueue.match(queue.key, from: 3))",
            rows.map { end + $0.values.suffix(queue.key.count) })
        return rows
    }

    // MARK: - Outcomes

    /// Ends a lease and records the outcome. Idempotent. Returns false if nothing was recorded,
    /// because the work was finished before, or because the lease was lost (but see
    /// ``LeaseQueue/completesWithoutLease``).
    ///
    /// - Parameters:
    ///   - holder: the holder of the lease; nil only if the work can be completed without a lease.
    ///   - isAttempt: whether to count this as an attempt.
    ///   - changes: other columns to change.
    @discardableResult
    func complete(
        _ key: [Value], of queue: LeaseQueue, _ outcome: LeaseOutcome, by holder: String?,
        isAttempt: Bool = true, _ changes: [Assignment] = []
    ) throws(StorageFailure) -> Bool {
        var all = changes + [(queue.due, .integer(outcome.next?.milliseconds))]
        if let column = queue.trouble {
            let short = outcome.trouble.map { String($0.prefix(queue.troubleCharactersMax)) }
            all.append((column, .text(short)))
        }
        let counted = isAttempt ? queue.attempts.map { ", \($0) = \($0) + 1" } ?? "" : ""
        let isForAll = outcome.isCompleted && queue.completesWithoutLease
        return try release(key, of: queue, by: isForAll ? nil : holder, all, counted)
    }

    /// Ends a lease without an outcome: the work stays due. Returns false if the lease was lost.
    @discardableResult
    func release(
        _ key: [Value], of queue: LeaseQueue, by holder: String?, _ changes: [Assignment] = [],
        _ counted: String = ""
    ) throws(StorageFailure) -> Bool {
        let free: [Assignment] = [(queue.leaseEnd, .integer(0)), (queue.holder, .null)]
        return try updateLease(key, of: queue, by: holder, changes + free, counted)
    }

    /// Changes leased work, for example to extend the lease. Returns false if the lease was lost.
    ///
    /// - Parameter holder: the holder of the lease; nil means that no lease is needed.
    func updateLease(
        _ key: [Value], of queue: LeaseQueue, by holder: String?, _ changes: [Assignment],
        _ counted: String = ""
    ) throws(StorageFailure) -> Bool {
        let sets = changes.enumerated().map { "\($1.column) = $\($0 + 1)" }
        let next = changes.count + 1
        return try connection.run(
            "UPDATE \(queue.table) SET \(sets.joined(separator: ", "))\(counted) "
                + "WHERE \(LeaseQueue.match(queue.key, from: next)) AND \(queue.unfinished)"
                + (holder == nil ? "" : " AND \(queue.holder) = $\(next + key.count)"),
            changes.map(\.value) + key + (holder.map { [.text($0)] } ?? [])) > 0
    }

    // MARK: - Backlog

    /// - Parameter now: counts only work that is due by this time; nil counts all waiting work.
    func backlog(
        of queue: LeaseQueue, in scope: [Value], dueBy now: Instant? = nil
    ) throws(StorageFailure) -> QueueBacklog {
        try connection.rows(
            queue.selectBacklog(isDue: now != nil),
            scope + (now.map { [.integer($0.milliseconds)] } ?? [])
                + [.integer(Int64(QueueBacklog.countMax))],
            QueueBacklog.init)[0]
    }

    /// Whether an app has due work. This check avoids a write transaction.
    package func hasDue(
        _ work: DueWork, of app: AppID, by now: Instant
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT 1 FROM \(work.rawValue) <= $1 AND app = $2 LIMIT 1",
            [.integer(now.milliseconds), .text(app.rawValue)]
        ).isEmpty
    }

    func clock() throws(StorageFailure) -> Int64 {
        try connection.number("SELECT \(dialect.clock)")
    }
}

/// Work of an app that becomes due at a time: its table, and the column to compare.
package enum DueWork: String, Hashable, Sendable {
    case transitions = "purchases WHERE next_change_at_ms"
    /// Ends of grants for which no event was emitted yet.
    case grantEnds = "grants WHERE next_change_at_ms"
    case termWatches = "term_watches WHERE due_at_ms"
    case consumptionInquiries = "consumption_questions WHERE due_at_ms"
}
