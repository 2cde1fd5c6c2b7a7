import AppStoreFormats
import Ledger
import Storage

/// Forwards notifications to other addresses, and keeps the queue of each address.
package struct ForwardingService: Sendable {
    let context: Context
    let forwardingSettings: ForwardingSettings
    let stateCache: ForwardingStateCache

    /// - Parameter former: the service of the previous configuration, whose caches are reused.
    init(context: Context, forwardingSettings: ForwardingSettings, former: ForwardingService?) {
        self.context = context
        self.forwardingSettings = forwardingSettings
        stateCache = former?.stateCache ?? ForwardingStateCache()
    }

    /// The maximum length of a Content-Type. A longer Content-Type is omitted.
    private static let contentTypeCharactersMax = 255
    /// The maximum number of forwards in one response.
    package static let forwardsMax = 500
    private static let allKept = Duration.days(30)
    private static let deletionBatch = 500
    /// The maximum number of deletion batches in one refresh.
    private static let deletionBatchesMax = 20

    static func receivedNotification(_ body: [UInt8], _ contentType: String?)
        -> ReceivedNotification
    {
        let isShort = (contentType?.count ?? 0) <= contentTypeCharactersMax
        return ReceivedNotification(contentType: isShort ? contentType : nil, body: body)
    }

    /// The addresses to which a notification is to be forwarded. Returns nil if the notification is
    /// not to be forwarded.
    func order(
        for arrived: ReceivedNotification, _ document: StoredDocument
    ) -> ForwardOrder? {
        guard let rules = context.apps[document.app]?.forwards, !rules.targets.isEmpty else {
            return nil
        }
        let names = rules.targets.filter { $0.environments.contains(document.environment) }
            .map(\.name)
        guard !names.isEmpty else { return nil }
        let full = names.filter { stateCache.isFull($0, of: document.app) }
        for name in full { logOmitted(name, document) }
        let now = document.receivedAt
        return ForwardOrder(
            arrived, to: names.filter { !full.contains($0) }, leftOut: full, createdAt: now,
            dueAt: rules.policy == .all ? now + ForwardingSettings.headStart : now)
    }

    private func logOmitted(_ target: String, _ document: StoredDocument) {
        context.counters.forwardsOmitted.add()
        context.logger.error(
            "a notification is not forwarded: too many are waiting for this address",
            metadata: [
                "app": "\(document.app)",
                "target": "\(forwardLabel(of: target, in: document.app))",
                "document": "\(DocumentID(bytes: document.id))",
            ])
    }

    // MARK: - The queue

    /// Attempts the forwards that are due for one address of an app. Returns how many were
    /// attempted, whatever the result. Idempotent and safe for several servers at once: each
    /// forward is leased to one server.
    package func forwardDue(to target: ForwardTarget, of app: AppID) async throws -> Int {
        let now = context.now()
        let holder = forwardingSettings.leaseHolder
        let leases = try await context.transaction { tx in
            try tx.forwards.lease(
                to: target.name, of: app, dueBy: now, limit: ForwardingSettings.concurrentAttempts,
                for: holder, lease: ForwardingSettings.lease)
        }
        try await attempt(leases.map { (lease: $0, target: target) }, of: app, nil)
        return leases.count
    }

    /// Attempts several forwards at once. If this server stops, unfinished forwards stay due.
    ///
    /// - Parameter arrived: the notification to send; nil to send the stored notification.
    private func attempt(
        _ leases: [(lease: ForwardLease, target: ForwardTarget)], of app: AppID,
        _ arrived: ReceivedNotification?
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (lease, target) in leases {
                tasks.addTask {
                    let answer: ForwardResult
                    if let body = arrived ?? lease.notification {
                        answer = await forwardingSettings.post(target.url, body)
                    } else {
                        answer = .noResponse("the notification is no longer stored")
                    }
                    try await complete(lease, of: app, answer, isStopping: Task.isCancelled)
                }
            }
            try await tasks.waitForAll()
        }
    }

    private func complete(
        _ lease: ForwardLease, of app: AppID, _ answer: ForwardResult, isStopping: Bool
    ) async throws {
        let now = context.now()
        // A notification that is no longer stored cannot be retried.
        let pause = lease.notification.flatMap { _ in
            ForwardingSettings.pause(after: lease.attempts + 1)
        }
        try await context.transaction { tx in
            // If this server is stopping, a failed attempt does not mean that the address rejected
            // it.
            if isStopping, !answer.isAccepted { return try tx.forwards.release(lease, of: app) }
            try tx.forwards.complete(lease, of: app, answer, at: now, next: pause.map { now + $0 })
        }
        if isStopping, !answer.isAccepted { return }
        (answer.isAccepted ? context.counters.forwardsAccepted : context.counters.forwardsFailed)
            .add()
        guard !answer.isAccepted else { return }
        context.logger.log(
            level: pause == nil ? .error : .notice,
            pause == nil
                ? "forwarding a notification failed for the last time; it will not be retried"
                : "forwarding a notification failed; it will be retried",
            metadata: [
                "app": "\(app)", "target": "\(forwardLabel(of: lease.target, in: app))",
                "answer": "\(answer)",
                "document": "\(DocumentID(bytes: lease.document))",
            ])
    }

    // MARK: - Forwards that the App Store waits for

    /// Forwards a notification at once to all addresses that have not accepted it yet.
    ///
    /// - Throws: ``EngineFailure`` `notForwarded` with the addresses that did not accept it.
    func requireAll(
        _ document: StoredDocument, _ arrived: ReceivedNotification
    ) async throws(EngineFailure) {
        do {
            let targets = context.apps[document.app]?.forwards.targets ?? []
            let holder = forwardingSettings.leaseHolder
            let leases = try await context.transaction { tx in
                try tx.forwards.lease(
                    of: document.id, in: document.app, for: holder, lease: ForwardingSettings.lease)
            }
            let known = leases.compactMap { lease in
                targets.first { $0.name == lease.target }.map { (lease: lease, target: $0) }
            }
            try await attempt(known, of: document.app, arrived)
            let after = try await context.read { tx in
                try tx.forwards.all(of: document.id, in: document.app)
            }
            let names = Set(targets.map(\.name))
            let open = after.filter { $0.acceptedAt == nil && names.contains($0.target) }
            if !open.isEmpty {
                throw EngineFailure.notForwarded(
                    open.map { forwardLabel(of: $0.target, in: document.app) })
            }
        } catch { throw EngineFailure(error) }
    }

    /// Forwards a notification that this server cannot record. Returns whether an address accepted
    /// it.
    func isAcceptedElsewhere(
        _ document: StoredDocument, _ arrived: ReceivedNotification
    ) async -> Bool {
        guard let rules = context.apps[document.app]?.forwards, rules.policy == .any else {
            return false
        }
        let urls = rules.targets.filter { $0.environments.contains(document.environment) }
            .map(\.url)
        return await withTaskGroup(of: Bool.self) { tasks in
            for url in urls {
                tasks.addTask { await forwardingSettings.post(url, arrived).isAccepted }
            }
            return await tasks.contains(true)
        }
    }

    // MARK: - State

    /// Refreshes ``states``: how many notifications wait for each address. Also deletes old
    /// forwards.
    package func refreshStates() async throws {
        let now = context.now()
        let queues = queues
        let seen = try await context.read { tx in
            try queues.map { app, target in
                let backlog = try tx.forwards.backlog(to: target.name, of: app)
                return ForwardingState(
                    app: app, target: target.name,
                    label: forwardLabel(of: target.name, in: app), waiting: backlog.count,
                    oldestAge: backlog.oldest.map { now - $0 } ?? .zero)
            }
        }
        stateCache.update(seen)
        for app in context.apps.keys.sorted() {
            try await deleteForwards(of: app, at: now)
        }
    }

    /// Deletes old forwards in batches, each in its own transaction, so that other writers do not
    /// wait long.
    private func deleteForwards(of app: AppID, at now: Instant) async throws {
        let completed = try context.settings(of: app).retention.forwarded
        for _ in 0..<Self.deletionBatchesMax {
            let count = try await context.transaction { tx in
                try tx.forwards.delete(
                    of: app, overBefore: now - completed,
                    allBefore: now - Self.allKept,
                    limit: Self.deletionBatch)
            }
            if count < Self.deletionBatch { return }
        }
    }

    /// The state of all queues, as of the last ``refreshStates()``.
    package var states: [ForwardingState] { stateCache.all }

    /// The visible form of an address: see ``ForwardLabel``.
    package func forwardLabel(of target: String, in app: AppID) -> String {
        ForwardLabel.text(of: target, among: context.apps[app]?.forwards.targets.map(\.name) ?? [])
    }

    /// The position in the list that follows the forward of a document to one address. If that
    /// forward no longer exists, returns the position after all forwards of the document.
    package func position(
        createdAt: Instant, document: [UInt8], targetDigest: String, app: AppID
    ) async throws(EngineFailure) -> ForwardPosition {
        let found = try await context.read { tx in try tx.forwards.all(of: document, in: app) }
        let target = found.first { ForwardLabel.digest(of: $0.target) == targetDigest }?.target
        return ForwardPosition(createdAt: createdAt, document: document, target: target ?? "")
    }

    /// Every address of every app.
    package var queues: [(app: AppID, target: ForwardTarget)] {
        context.apps.values.sorted { $0.id < $1.id }.flatMap { app in
            app.forwards.targets.map { (app: app.id, target: $0) }
        }
    }

    /// Schedules abandoned forwards of a document again, for every configured address. Idempotent.
    /// Returns the state of all forwards of the document. The list is empty if the document was
    /// never forwarded, or if its forwards have been deleted.
    package func retryAll(
        of document: [UInt8], app appID: AppID
    ) async throws(EngineFailure) -> [StoredForward] {
        let (app, _) = try context.app(appID)
        let now = context.now()
        let names = app.forwards.targets.map(\.name)
        return try await context.transaction { tx in
            try tx.forwards.retry(of: document, in: appID, to: names, at: now)
            return try tx.forwards.all(of: document, in: appID)
        }
    }

    /// Schedules the abandoned forward of a document to one address again. Idempotent. Returns
    /// false if there is no abandoned forward, or if the notification is no longer stored. Returns
    /// nil if no configured address has this label.
    ///
    /// - Parameter label: the visible form of the address, see ``forwardLabel(of:in:)``.
    package func retry(
        of document: [UInt8], toAddress label: String, app appID: AppID
    ) async throws(EngineFailure) -> Bool? {
        let (app, _) = try context.app(appID)
        let now = context.now()
        let names = app.forwards.targets.map(\.name)
        guard let name = names.first(where: { forwardLabel(of: $0, in: appID) == label }) else {
            return nil
        }
        return try await context.decide { tx -> Decision<Bool> in
            let count = try tx.forwards.retry(of: document, in: appID, to: [name], at: now)
            return count > 0 ? .done(true) : .unchanged(false)
        }
    }

    /// The forwards of an app in a state, or in any state, newest first.
    package func all(
        of appID: AppID, in state: StoredForward.State?, after position: ForwardPosition?,
        limit: Int
    ) async throws(EngineFailure) -> [StoredForward] {
        _ = try context.app(appID)
        return try await context.read { tx in
            try tx.forwards.all(of: appID, in: state, after: position, limit: limit)
        }
    }
}
