/// An error of the database layer.
package struct StorageFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package var message: String
    package var kind: Kind
    /// The error code of the engine: PostgreSQL's five-character SQLSTATE. Nil on SQLite.
    package var sqlState: String?

    /// What the caller can do about the failure.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Too much work is waiting, or the operation took too long. Retry later.
        case busy
        /// Another transaction interfered. The whole transaction may be retried at once.
        case conflict
        /// The server does not respond, or is shutting down. Retry later on a new connection.
        case unavailable
        /// A row violates a constraint: it already exists, or a row that it references is missing.
        case constraint
        /// The id in ``StorageFailure/message`` belongs to a customer who was erased.
        case erased
        /// A transaction on a snapshot reads rows that others may change without a conflict: see
        /// ``SnapshotConnection``. The whole transaction can be run again as a serializable one.
        case needsSerializable
        /// Any other failure. A retry would fail again.
        case other
    }

    /// Whether a connection pooler has mixed up the sessions of the database.
    package var isByPooler: Bool { ["42P05", "26000"].contains(sqlState) }

    /// Whether a lock was not granted within PostgreSQL's `lock_timeout`.
    package var isByLock: Bool { sqlState == "55P03" }

    /// Whether the database server is a standby, which accepts no writes.
    package var isByStandby: Bool { kind == .unavailable && sqlState == "25006" }

    package init(_ what: String, kind: Kind = .other, sqlState: String? = nil) {
        self.message = what
        self.kind = kind
        self.sqlState = sqlState
    }

    package var description: String { message }
}
