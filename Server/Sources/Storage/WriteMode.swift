/// How a write transaction is isolated from concurrent transactions. On SQLite, which has one
/// writer, all modes are the same.
package struct WriteMode: Hashable, Sendable {
    package enum Isolation: Hashable, Sendable {
        /// Serializable: the transaction runs as if alone. The transaction fails if another
        /// transaction may have interfered. It may also fail if both transactions only used the
        /// same page of an index.
        case serializable
        /// Snapshot: all statements see the rows as they were at the first statement. The
        /// transaction fails only if another transaction has changed a row that this transaction
        /// also changes. So a transaction must change a row of each object whose rows it relies on.
        case snapshot
        /// Read committed: each statement sees everything committed before it. The transaction must
        /// lock the rows on which it relies.
        case committed
    }

    /// How often one transaction may run because of conflicts.
    package static let runsMax = 60

    package var isolation: Isolation
    /// Statements that take locks before the first row is read.
    package var locks: [String]
    /// How often the transaction may run because of conflicts, before it fails as `conflict`.
    package var runs: Int

    package init(_ isolation: Isolation, locks: [String] = [], runs: Int = runsMax) {
        self.isolation = isolation
        self.locks = locks
        self.runs = runs
    }

    package static let serializable = WriteMode(.serializable)
    package static let snapshot = WriteMode(.snapshot)
    package static let committed = WriteMode(.committed)
}
