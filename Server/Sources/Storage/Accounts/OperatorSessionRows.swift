import Ledger

/// A session of an operator, in the browser in which the operator signed in.
package struct OperatorSession: Hashable, Sendable {
    /// The minimum time between two recorded uses of one session.
    package static let secondsBetweenUses: Int64 = 60

    /// The SHA-256 of the session's token: 32 bytes.
    package var hash: [UInt8]
    package var operatorName: String
    package var createdAt: Instant
    /// When the session was last used. This time may be up to a minute too early.
    package var usedAt: Instant
    /// When the session ends, even if it is in use.
    package var until: Instant
    /// The address and the browser with which the operator has signed in.
    package var address: String
    package var agent: String

    package init(
        hash: [UInt8], operatorName: String, createdAt: Instant, until: Instant, address: String,
        agent: String
    ) {
        self.hash = hash
        self.operatorName = operatorName
        self.createdAt = createdAt
        usedAt = createdAt
        self.until = until
        self.address = address
        self.agent = agent
    }
}

/// The sessions of operators who are signed in.
package struct OperatorSessionRows: RowGroup {
    package let tx: DatabaseSession

    private static let sessionColumns =
        "session, operator, created_at_ms, used_at_ms, until_ms, address, agent"

    /// Adds a session. Idempotent.
    package func add(_ session: OperatorSession) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO operator_sessions (app, \(Self.sessionColumns)) "
                + "VALUES ('', $1, $2, $3, $4, $5, $6, $7) ON CONFLICT (app, session) DO NOTHING",
            [
                .bytes(session.hash), .text(session.operatorName),
                .integer(session.createdAt.milliseconds), .integer(session.usedAt.milliseconds),
                .integer(session.until.milliseconds), .text(session.address),
                .text(session.agent),
            ])
    }

    /// Looks up a session by the SHA-256 of its token, even if it has ended.
    package func find(hash: [UInt8]) throws(StorageFailure) -> OperatorSession? {
        try connection.firstRow(
            "SELECT \(Self.sessionColumns) FROM operator_sessions WHERE app = '' AND session = $1",
            [.bytes(hash)], Self.session)
    }

    /// The sessions of an operator, the newest first.
    package func all(of name: String) throws(StorageFailure) -> [OperatorSession] {
        try connection.rows(
            "SELECT \(Self.sessionColumns) FROM operator_sessions WHERE app = '' AND operator = $1 "
                + "ORDER BY created_at_ms DESC, session", [.text(name)], Self.session)
    }

    /// Records a use of a session. Idempotent.
    package func recordUse(
        ofSession hash: [UInt8], at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE operator_sessions SET used_at_ms = $1 WHERE app = '' AND session = $2",
            [.integer(now.milliseconds), .bytes(hash)])
    }

    /// Ends a session. Idempotent.
    package func delete(hash: [UInt8]) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM operator_sessions WHERE app = '' AND session = $1", [.bytes(hash)])
    }

    /// Ends the sessions of an operator, except the session with the given hash. Returns how many
    /// it ended. Idempotent.
    @discardableResult
    package func delete(
        of name: String, except hash: [UInt8]? = nil
    ) throws(StorageFailure) -> Int {
        try connection.run(
            "DELETE FROM operator_sessions WHERE app = '' AND operator = $1 AND session <> $2",
            [.text(name), .bytes(hash ?? [])])
    }

    /// Deletes the sessions whose end is before now, and the sessions that were last used before a
    /// moment. Idempotent.
    package func deleteEnded(
        usedBefore idle: Instant, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM operator_sessions WHERE app = '' AND (until_ms <= $1 OR used_at_ms <= $2)",
            [.integer(now.milliseconds), .integer(idle.milliseconds)])
    }

    private static func session(
        _ row: inout ColumnReader
    ) throws(StorageFailure) -> OperatorSession {
        let (hash, name) = (try row.bytes(), try row.text())
        let (createdAt, usedAt) = (try row.instant(), try row.instant())
        var session = OperatorSession(
            hash: hash, operatorName: name, createdAt: createdAt, until: try row.instant(),
            address: try row.text(), agent: try row.text())
        session.usedAt = usedAt
        return session
    }
}
