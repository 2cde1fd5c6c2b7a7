import Ledger
import Storage

/// A page of an app's event log, and the cursor of the next page.
package struct EventPage: Hashable, Sendable {
    package var events: [LoggedEvent]
    /// The epochs of the log: an event's id names the epoch to which the event belongs.
    package var epochs: LogEpochs
    package var next: LogPosition
}

/// The event logs of the apps: reads and numbers events, and emits the events that time alone
/// causes.
package struct EventService: Sendable {
    let context: Context
    let terms: TermService

    /// The maximum number of events in one response.
    package static let eventsMax = EventLog.eventsMax
    /// The number of an app's purchases that are processed in one transaction.
    private static let transitionBatch = 200

    /// The events of an app after a cursor, in order. If a customer is given, returns only that
    /// customer's events. These include the events of purchases that belong to the customer only
    /// because their account token equals the id. An unknown customer has no events.
    ///
    /// - Parameter place: the cursor of the last event that the caller has read; nil to begin with
    ///   the first.
    /// - Throws: ``EngineFailure``: `unknownCursor` if the cursor is past the last event, and
    ///   `outdatedCursor` if the cursor is from the log before a restore, even if the log has
    ///   advanced far since. A reader that continued from such a cursor would miss events.
    package func page(
        of appID: AppID, customer id: CustomerID? = nil, after place: LogPosition?, limit: Int
    ) async throws(EngineFailure) -> EventPage {
        _ = try context.app(appID)
        guard limit <= Self.eventsMax else {
            throw .limitExceeded(what: "events", limit: Self.eventsMax)
        }
        let page: Result<EventPage, EngineFailure> = try await readingLog(of: appID) { tx in
            let epochs = try tx.events.epochs(of: appID)
            let place = place ?? LogPosition(epochs.current, 0)
            if let failure = try EventReader(tx).refusal(of: place, in: appID, epochs) {
                return .failure(failure)
            }
            let events = try EventReader(tx).events(
                of: appID, id, after: place.sequence, limit: limit)
            return .success(
                EventPage(
                    events: events, epochs: epochs,
                    next: LogPosition(epochs.current, events.last?.sequence ?? place.sequence)))
        }
        return try page.get()
    }

    /// The events of an app after a sequence number, in order, for callers without a cursor.
    ///
    /// - Parameter sequence: the number of the last known event; 0 to begin with the first.
    package func list(
        of appID: AppID, customer id: CustomerID? = nil, after sequence: Int64, limit: Int
    ) async throws(EngineFailure) -> [LoggedEvent] {
        let epochs = try await context.read { tx in try tx.events.epochs(of: appID) }
        let place = LogPosition(epochs.current, sequence)
        return try await page(of: appID, customer: id, after: place, limit: limit).events
    }

    /// The newest events of a customer before a sequence number, in order. The cursor of the page
    /// is the cursor of its last event.
    package func lastPage(
        of appID: AppID, customer id: CustomerID, before sequence: Int64, limit: Int
    ) async throws(EngineFailure) -> EventPage {
        _ = try context.app(appID)
        guard limit <= Self.eventsMax else {
            throw .limitExceeded(what: "events", limit: Self.eventsMax)
        }
        return try await readingLog(of: appID) { tx in
            let ids = try tx.customers.find(known: id, in: appID)?.ids ?? [id]
            let events = try EventReader(tx).lastEvents(
                concerning: ids, in: appID, before: sequence, limit: limit)
            let epochs = try tx.events.epochs(of: appID)
            return EventPage(
                events: events, epochs: epochs,
                next: LogPosition(epochs.current, events.last?.sequence ?? 0))
        }
    }

    /// The number of events of a customer.
    package func count(
        of appID: AppID, customer id: CustomerID
    ) async throws(EngineFailure) -> Int {
        _ = try context.app(appID)
        return try await readingLog(of: appID) { tx in
            let ids = try tx.customers.find(known: id, in: appID)?.ids ?? [id]
            var count = try EventReader(tx).unnamedEvents(of: ids, in: appID, after: 0).count
            for id in ids {
                let last = try tx.events.last(of: [id], in: appID, limit: 1).last
                count += Int(last?.customerSequence ?? 0)
            }
            return count
        }
    }

    /// The cursor after the newest event of an app.
    package func lastLogPosition(of appID: AppID) async throws(EngineFailure) -> LogPosition {
        _ = try context.app(appID)
        return try await readingLog(of: appID) { tx in
            LogPosition(
                try tx.events.epochs(of: appID).current, try tx.events.lastSequence(of: appID))
        }
    }

    /// Gives committed events their numbers. An event without a number cannot be read. Returns how
    /// many events got a number. Idempotent, and safe for several servers at once. On SQLite every
    /// event has its number when it is committed.
    ///
    /// - Parameter isWaiting: false to leave the events to another server that is numbering.
    @discardableResult
    package func numberEvents(isWaiting: Bool = true) async throws(EngineFailure) -> Int {
        do { return try await context.db.numberEvents(isWaiting: isWaiting) } catch {
            throw EngineFailure(error)
        }
    }

    /// Yields after commits of this server that may have appended events without numbers. One
    /// element can stand for many commits. The stream is for one reader only.
    package var unnumbered: AsyncStream<Void> { context.db.unnumbered }

    /// Returns a stream that yields after this server has committed events of an app. The stream
    /// ends when its continuation is finished. Commits of other servers yield nothing.
    package func logSignals(
        of app: AppID
    ) -> (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation) {
        context.db.signals.signals(ofLogOf: app)
    }

    /// Reads the log of an app, with all events that were committed before the call. If these
    /// events cannot be numbered now, reads only the events that have numbers.
    func readingLog<Value: Sendable>(
        of app: AppID, _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws(EngineFailure) -> Value {
        let value: Value? = try await context.read { tx in
            try tx.pendingEvents.hasAny(of: app) ? nil : body(tx)
        }
        if let value { return value }
        do { try await context.db.numberEvents(of: app) } catch {
            context.logger.warning("Events could not be numbered.", metadata: ["error": "\(error)"])
        }
        return try await context.read(body)
    }

    /// Emits events for changes that time alone has caused: periods that ended, grace periods that
    /// ended, terms that will end soon. Returns how many purchases and customers were examined; 0
    /// if nothing is due. Idempotent and safe for several servers at once.
    ///
    /// - Throws: ``EngineFailure`` of the first app that failed, if nothing is due for the other
    ///   apps. A failing app does not delay the others.
    package func emitTimeBased() async throws(EngineFailure) -> Int {
        var count = 0
        var failure: EngineFailure?
        for settings in context.apps.values.sorted(by: { $0.id < $1.id }) {
            do { count += try await emitTimeBased(of: settings) } catch {
                failure = failure ?? error
            }
        }
        if count == 0, let failure { throw failure }
        return count
    }

    private func emitTimeBased(of settings: AppSettings) async throws(EngineFailure) -> Int {
        let app = settings.id
        let now = context.now()
        let reminded = try await terms.emitReminders(of: settings)
        // The check for due work must not wait for writers.
        let isDue = try await context.read { tx in
            try tx.queues.hasDue(.transitions, of: app, by: now)
                || tx.queues.hasDue(.grantEnds, of: app, by: now)
        }
        guard isDue else { return reminded }
        return try await reminded
            + context.transaction { tx in
                try PurchaseEvents(tx).emitTransitions(
                    of: app, dueBy: now, limit: Self.transitionBatch)
                    + GrantUpdates(tx).emitExpired(of: app, dueBy: now, limit: Self.transitionBatch)
            }
    }
}
