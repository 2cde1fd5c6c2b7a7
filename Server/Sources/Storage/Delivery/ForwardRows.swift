import Ledger

/// A notification as received.
package struct ReceivedNotification: Hashable, Sendable {
    /// The Content-Type header; nil if there was none.
    package var contentType: String?
    package var body: [UInt8]

    package init(contentType: String?, body: [UInt8]) {
        self.contentType = contentType
        self.body = body
    }
}

/// Where to forward a notification.
package struct ForwardOrder: Hashable, Sendable {
    package var notification: ReceivedNotification
    /// The names of the target addresses.
    package var targets: [String]
    /// Targets whose queue is full. A forward to such a target is recorded as left out.
    package var leftOut: [String]
    package var createdAt: Instant
    package var dueAt: Instant

    package init(
        _ arrived: ReceivedNotification, to targets: [String], leftOut: [String] = [],
        createdAt: Instant, dueAt: Instant
    ) {
        self.notification = arrived
        self.targets = targets
        self.leftOut = leftOut
        self.createdAt = createdAt
        self.dueAt = dueAt
    }
}

/// The forward of a notification to one target address.
package struct StoredForward: Hashable, Sendable {
    package var document: [UInt8]
    package var target: String
    package var environment: Environment
    package var createdAt: Instant
    /// The time of the next attempt; nil if no attempt will follow.
    package var dueAt: Instant?
    package var attempts: Int
    package var attemptedAt: Instant?
    /// The HTTP status of the last response; nil if there was none.
    package var status: Int?
    /// Why the last attempt got no response. Nil if the last attempt got a response.
    package var lastError: String?
    package var acceptedAt: Instant?

    package enum State: String, Hashable, Sendable, CaseIterable {
        case waiting
        case accepted
        /// The maximum number of attempts was made, and all of them failed.
        case givenUp = "given_up"
        /// The forward was never tried, because the queue of the address was full.
        case leftOut = "left_out"
    }

    package var state: State {
        if acceptedAt != nil { return .accepted }
        if dueAt != nil { return .waiting }
        return attempts == 0 ? .leftOut : .givenUp
    }
}

/// A forward that one server has leased to attempt it.
package struct ForwardLease: Hashable, Sendable {
    package var document: [UInt8]
    package var target: String
    package var attempts: Int
    package var holder: String
    /// The notification to send. Nil if its body was deleted, so that there is nothing left to
    /// send.
    package var notification: ReceivedNotification?
}

/// The result of an attempt.
package enum ForwardResult: Hashable, Sendable {
    case status(Int)
    /// There was no response, for the given reason.
    case noResponse(String)

    /// Whether the App Store would consider the status a success ("Responding to App Store Server
    /// Notifications").
    package var isAccepted: Bool {
        if case .status(let code) = self { (200...206).contains(code) } else { false }
    }
}

extension LeaseQueue {
    /// Notifications to be forwarded: one queue for each address of an app. A forward that was
    /// accepted is recorded even if its lease was lost.
    static let forwards = Self(
        table: "forwards", key: ["app", "document", "target"], scope: ["app", "target"],
        columns: "attempts", since: "created_at_ms", attempts: "attempts", trouble: "trouble",
        troubleCharactersMax: 200, unfinished: "accepted_at_ms IS NULL",
        completesWithoutLease: true)
}

/// Notifications that are forwarded to addresses of the operator.
package struct ForwardRows: RowGroup {
    package let tx: DatabaseSession

    // MARK: - Enqueueing

    /// Enqueues documents for forwarding. Existing forwards are unchanged.
    package func enqueue(_ attested: [DocumentWithFacts]) throws(StorageFailure) {
        for each in attested {
            guard let order = each.forward else { continue }
            let rows =
                order.targets.map { Self.row(each.document, $0, order, order.dueAt) }
                + order.leftOut.map { Self.row(each.document, $0, order, nil) }
            let added = try connection.runEach(Self.insertForward, rows)
            guard added.prefix(order.targets.count).contains(where: { $0 > 0 }) else { continue }
            try connection.run(
                "INSERT INTO forward_bodies (app, document, content_type, body) "
                    + "VALUES ($1, $2, $3, $4) ON CONFLICT (app, document) DO NOTHING",
                [
                    .text(each.document.app.rawValue), .bytes(each.document.id),
                    .text(order.notification.contentType), .bytes(order.notification.body),
                ])
        }
    }

    private static let insertForward =
        "INSERT INTO forwards (app, document, target, environment, created_at_ms, due_at_ms, "
        + "attempts, lease_until_ms) VALUES ($1, $2, $3, $4, $5, $6, 0, 0) "
        + "ON CONFLICT (app, document, target) DO NOTHING"

    private static func row(
        _ document: StoredDocument, _ target: String, _ order: ForwardOrder, _ dueAt: Instant?
    ) -> [Value] {
        [
            .text(document.app.rawValue), .bytes(document.id), .text(target),
            .text(document.environment.rawValue), .integer(order.createdAt.milliseconds),
            .integer(dueAt?.milliseconds),
        ]
    }

    // MARK: - Leases

    /// Leases due forwards to one address, the longest overdue first. No other server can lease
    /// these forwards until the lease expires.
    package func lease(
        to target: String, of app: AppID, dueBy now: Instant, limit: Int, for holder: String,
        lease: Duration
    ) throws(StorageFailure) -> [ForwardLease] {
        try leases(
            tx.queues.leaseDue(
                .forwards, in: [.text(app.rawValue), .text(target)], by: now, limit: limit,
                for: holder, lease: lease), of: app, for: holder)
    }

    /// Leases all forwards of one document that have not been accepted, even if they are not due.
    package func lease(
        of document: [UInt8], in app: AppID, for holder: String, lease: Duration
    ) throws(StorageFailure) -> [ForwardLease] {
        let key: [Value] = [.text(app.rawValue), .bytes(document)]
        return try leases(
            tx.queues.lease(.forwards, key: key, for: holder, lease: lease), of: app, for: holder)
    }

    private func leases(
        _ rows: [Row], of app: AppID, for holder: String
    ) throws(StorageFailure) -> [ForwardLease] {
        var leases = try rows.read { row throws(StorageFailure) in
            let attempts = try row.count()
            try row.skip()
            return ForwardLease(
                document: try row.bytes(), target: try row.text(), attempts: attempts,
                holder: holder)
        }
        let bodies = try connection.rowsEach(
            "SELECT content_type, body FROM forward_bodies WHERE app = $1 AND document = $2",
            leases.map { [.text(app.rawValue), .bytes($0.document)] })
        for (index, found) in bodies.enumerated() {
            leases[index].notification = try found.first?.read { row throws(StorageFailure) in
                ReceivedNotification(contentType: try row.optionalText(), body: try row.bytes())
            }
        }
        return leases
    }

    private static func key(_ lease: ForwardLease, in app: AppID) -> [Value] {
        [.text(app.rawValue), .bytes(lease.document), .text(lease.target)]
    }

    // MARK: - Manual retries

    /// If forwards of a document to these addresses were given up, retries them. Their attempts are
    /// counted from the beginning again. Accepted and waiting forwards are unchanged. Returns how
    /// many forwards are retried.
    @discardableResult
    package func retry(
        of document: [UInt8], in app: AppID, to targets: [String], at now: Instant
    ) throws(StorageFailure) -> Int {
        try connection.runEach(
            "UPDATE forwards SET due_at_ms = $1, attempts = 0, lease_until_ms = 0, "
                + "lease_holder = NULL WHERE app = $2 AND document = $3 AND target = $4 "
                + "AND due_at_ms IS NULL AND accepted_at_ms IS NULL AND EXISTS (SELECT 1 "
                + "FROM forward_bodies AS body WHERE body.app = $2 AND body.document = $3)",
            targets.map {
                [
                    .integer(now.milliseconds), .text(app.rawValue), .bytes(document), .text($0),
                ]
            }
        ).reduce(0, +)
    }

    // MARK: - Results

    /// Records the result of an attempt. A success is recorded even if the lease was lost. A
    /// failure is recorded only if the caller still has the lease.
    ///
    /// - Parameter next: the time of the next attempt; nil if no attempt will follow.
    package func complete(
        _ lease: ForwardLease, of app: AppID, _ answer: ForwardResult, at now: Instant,
        next: Instant?
    ) throws(StorageFailure) {
        var (status, trouble): (Int64?, String?)
        switch answer {
        case .status(let code): status = Int64(code)
        case .noResponse(let reason): trouble = reason
        }
        let isAccepted = answer.isAccepted
        try tx.queues.complete(
            Self.key(lease, in: app), of: .forwards,
            isAccepted ? .completed() : .failed(trouble, next: next), by: lease.holder,
            [
                ("attempted_at_ms", .integer(now.milliseconds)), ("status", .integer(status)),
                ("accepted_at_ms", .integer(isAccepted ? now.milliseconds : nil)),
            ])
        try deleteBodyIfUnneeded(of: lease.document, in: app)
    }

    /// Releases a lease without an attempt. The forward stays due.
    package func release(_ lease: ForwardLease, of app: AppID) throws(StorageFailure) {
        try tx.queues.release(Self.key(lease, in: app), of: .forwards, by: lease.holder)
    }

    /// Deletes the body of a document if no forward can need it any more. The body is kept for a
    /// forward that was given up, because such a forward can be retried manually. A forward that
    /// was left out cannot be retried.
    func deleteBodyIfUnneeded(of document: [UInt8], in app: AppID) throws(StorageFailure) {
        let waiting = try connection.rows(
            "SELECT 1 FROM forwards WHERE app = $1 AND document = $2 AND accepted_at_ms IS NULL "
                + "AND (due_at_ms IS NOT NULL OR attempts > 0) LIMIT 1",
            [.text(app.rawValue), .bytes(document)])
        guard waiting.isEmpty else { return }
        try connection.run(
            "DELETE FROM forward_bodies WHERE app = $1 AND document = $2",
            [.text(app.rawValue), .bytes(document)])
    }
}
