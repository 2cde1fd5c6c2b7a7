import Ledger

/// A position in the list of forwards, which is ordered newest first.
package struct ForwardPosition: Hashable, Sendable {
    package var createdAt: Instant
    package var document: [UInt8]
    package var target: String

    package init(after forward: StoredForward) {
        createdAt = forward.createdAt
        document = forward.document
        target = forward.target
    }

    package init(createdAt: Instant, document: [UInt8], target: String) {
        self.createdAt = createdAt
        self.document = document
        self.target = target
    }
}

extension ForwardRows {
    private static let columns =
        "document, target, environment, created_at_ms, due_at_ms, attempts, attempted_at_ms, "
        + "status, trouble, accepted_at_ms"

    /// Forwards of an app in a state, or in any state, newest first.
    package func all(
        of app: AppID, in state: StoredForward.State?, after position: ForwardPosition?, limit: Int
    ) throws(StorageFailure) -> [StoredForward] {
        var values: [Value] = [.text(app.rawValue)]
        if let position {
            values += [
                .integer(position.createdAt.milliseconds), .bytes(position.document),
                .text(position.target),
            ]
        }
        return try connection.rows(
            Self.selectForwards(in: state, isFirstPage: position == nil),
            values + [.integer(Int64(limit))], Self.forward)
    }

    static func selectForwards(in state: StoredForward.State?, isFirstPage: Bool) -> String {
        let position = isFirstPage ? "" : " AND (created_at_ms, document, target) < ($2, $3, $4)"
        let condition = state.map { " AND \(Self.condition(of: $0))" } ?? ""
        return "SELECT \(columns) FROM forwards WHERE app = $1\(position)\(condition) "
            + "ORDER BY created_at_ms DESC, document DESC, target DESC "
            + "LIMIT $\(isFirstPage ? 2 : 5)"
    }

    /// The forwards of one document to all addresses.
    package func all(
        of document: [UInt8], in app: AppID
    ) throws(StorageFailure) -> [StoredForward] {
        try connection.rows(
            "SELECT \(Self.columns) FROM forwards WHERE app = $1 AND document = $2 "
                + "ORDER BY target",
            [.text(app.rawValue), .bytes(document)], Self.forward)
    }

    /// The SQL condition of a state, as in the partial indexes. A forward that waits has not been
    /// accepted.
    private static func condition(of state: StoredForward.State) -> String {
        switch state {
        case .waiting: "due_at_ms IS NOT NULL"
        case .accepted: "accepted_at_ms IS NOT NULL"
        case .givenUp: "accepted_at_ms IS NULL AND due_at_ms IS NULL AND attempts > 0"
        case .leftOut: "accepted_at_ms IS NULL AND due_at_ms IS NULL AND attempts = 0"
        }
    }

    private static func forward(_ row: inout ColumnReader) throws(StorageFailure) -> StoredForward {
        StoredForward(
            document: try row.bytes(), target: try row.text(),
            environment: try row.environment(), createdAt: try row.instant(),
            dueAt: try row.optionalInstant(), attempts: try row.count(),
            attemptedAt: try row.optionalInstant(),
            status: try row.optionalInteger().map(Int.init), lastError: try row.optionalText(),
            acceptedAt: try row.optionalInstant())
    }

    /// The number of forwards that wait for an address, and the time when the oldest of them began
    /// to wait.
    package func backlog(
        to target: String, of app: AppID
    ) throws(StorageFailure) -> QueueBacklog {
        try tx.queues.backlog(of: .forwards, in: [.text(app.rawValue), .text(target)])
    }

    /// Deletes old forwards. Forwards that were accepted or left out are deleted if they are from
    /// before `over`. All other forwards are deleted if they are from before `all`. Those other
    /// forwards were given up but could still be retried manually, or they are for an address that
    /// is no longer configured. Returns the number of deleted forwards.
    package func delete(
        of app: AppID, overBefore over: Instant, allBefore all: Instant, limit: Int
    ) throws(StorageFailure) -> Int {
        var count = 0
        for state in StoredForward.State.allCases where count < limit {
            let end = state == .accepted || state == .leftOut ? over : all
            let rows = try connection.rows(
                Self.selectExpired(in: state),
                [
                    .text(app.rawValue), .integer(end.milliseconds),
                    .integer(Int64(limit - count)),
                ]
            ) { row throws(StorageFailure) in (document: try row.bytes(), target: try row.text()) }
            for row in rows { try delete(of: row.document, to: row.target, in: app) }
            count += rows.count
        }
        return count
    }

    /// The query for one state. Each state has a separate query, because no index contains the
    /// forwards of all states in order of time.
    static func selectExpired(in state: StoredForward.State) -> String {
        let since = state == .accepted ? "accepted_at_ms" : "created_at_ms"
        return "SELECT document, target FROM forwards WHERE app = $1 AND \(since) < $2 "
            + "AND \(condition(of: state)) ORDER BY \(since) LIMIT $3"
    }

    private func delete(
        of document: [UInt8], to target: String, in app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM forwards WHERE app = $1 AND document = $2 AND target = $3",
            [.text(app.rawValue), .bytes(document), .text(target)])
        try deleteBodyIfUnneeded(of: document, in: app)
    }
}
