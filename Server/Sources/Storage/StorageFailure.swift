/// What the database could not do.
package struct StorageFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package var what: String
    package var kind: Kind
    /// The engine's own code: five characters of PostgreSQL's table of error codes.
    package var sqlState: String?

    /// What may be done about it.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Too much waits already, or this took too long. Worth another attempt later.
        case busy
        /// Another transaction came between. The whole transaction may be run again at once.
        case conflict
        /// The server does not answer, or is going down. Worth another attempt on a new connection.
        case unavailable
        /// A row is not as the tables demand: it is there already, or lacks what it refers to.
        case constraint
        /// An id, which is ``StorageFailure/what``, stands for somebody who was erased.
        case erased
        /// The same again would fail again.
        case other
    }

    package init(_ what: String, kind: Kind = .other, sqlState: String? = nil) {
        self.what = what
        self.kind = kind
        self.sqlState = sqlState
    }

    package var description: String { what }
}
