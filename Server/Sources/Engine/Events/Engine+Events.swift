import Ledger
import Storage

package typealias LoggedEvent = Storage.Event
package typealias EventEntry = Storage.EventEntry
package typealias LogPosition = Storage.LogPosition
package typealias LogEpochs = Storage.LogEpochs

/// A page of an app's event log, and the cursor of the next page.
package struct EventPage: Hashable, Sendable {
    package var events: [LoggedEvent]
    /// The epochs of the log: an event's id names the epoch that the event belongs to.
    package var epochs: LogEpochs
    package var next: LogPosition
}

extension Engine {
    /// The maximum number of events in one response.
    package static let eventsMax = DatabaseSession.eventsMax
    /// Purchases of one app that are processed in one transaction.
    private static let transitionBatch = 200

    /// The events of an app after a cursor, in order. If a customer is named, only that customer's
    /// events, including those of purchases that only carry an account token equal to the id. An
    /// unknown customer has none.
    ///
    /// - Parameter place: the cursor of the last event read; nil for the beginning.
    /// - Throws: ``EngineFailure``: `unknownCursor` if the cursor is past the last event, and
    ///   `outdatedCursor` if it is from the log before a restore, however far the log has advanced
    ///   since: a reader that continued from either would miss events.
    package func eventPage(
        of appID: AppID, customer id: CustomerID? = nil, after place: LogPosition?, limit: Int
    ) async throws(EngineFailure) -> EventPage {
        _ = try app(appID)
        guard limit <= Self.eventsMax else {
            throw .limitExceeded(what: "events", limit: Self.eventsMax)
        }
        let page: Result<EventPage, EngineFailure> = try await readingLog(of: appID) { tx in
            let epochs = try tx.logEpochs(of: appID)
            let place = place ?? LogPosition(epochs.current, 0)
            if let failure = try tx.refusal(of: place, in: appID, epochs) {
                return .failure(failure)
            }
            let events = try tx.events(of: appID, id, after: place.sequence, limit: limit)
            return .success(
                EventPage(
                    events: events, epochs: epochs,
                    next: LogPosition(epochs.current, events.last?.sequence ?? place.sequence)))
        }
        return try page.get()
    }

    /// The events of an app after a sequence number, in order, for callers that keep no cursor.
    ///
    /// - Parameter sequence: of the last event that is known already; 0 for the first.
    package func events(
        of appID: AppID, customer id: CustomerID? = nil, after sequence: Int64, limit: Int
    ) async throws(EngineFailure) -> [LoggedEvent] {
        let epochs = try await read { tx in try tx.logEpochs(of: appID) }
        let place = LogPosition(epochs.current, sequence)
        return try await eventPage(of: appID, customer: id, after: place, limit: limit).events
    }

    /// The newest events of a customer before a sequence number, in order. The page's cursor is
    /// that of its last event.
    package func lastEventPage(
        of appID: AppID, customer id: CustomerID, before sequence: Int64, limit: Int
    ) async throws(EngineFailure) -> EventPage {
        _ = try app(appID)
        guard limit <= Self.eventsMax else {
            throw .limitExceeded(what: "events", limit: Self.eventsMax)
        }
        return try await readingLog(of: appID) { tx in
            let ids = try tx.customer(known: id, in: appID)?.ids ?? [id]
            let events = try tx.lastEvents(
                concerning: ids, in: appID, before: sequence, limit: limit)
            let epochs = try tx.logEpochs(of: appID)
            return EventPage(
                events: events, epochs: epochs,
                next: LogPosition(epochs.current, events.last?.sequence ?? 0))
        }
    }

    /// The number of events of a customer.
    package func eventCount(
        of appID: AppID, customer id: CustomerID
    ) async throws(EngineFailure) -> Int {
        _ = try app(appID)
        return try await readingLog(of: appID) { tx in
            let ids = try tx.customer(known: id, in: appID)?.ids ?? [id]
            var count = try tx.unnamedEvents(of: ids, in: appID, after: 0).count
            for id in ids {
                let last = try tx.lastEvents(of: [id], in: appID, limit: 1).last
                count += Int(last?.customerSequence ?? 0)
            }
            return count
        }
    }

    /// The cursor after the newest event of an app.
    package func lastLogPosition(of appID: AppID) async throws(EngineFailure) -> LogPosition {
        _ = try app(appID)
        return try await readingLog(of: appID) { tx in
            LogPosition(try tx.logEpochs(of: appID).current, try tx.lastSequence(of: appID))
        }
    }

    /// Gives committed events their numbers, without which nobody reads them. Returns how many.
    /// Harmless to repeat, and for several servers at once. On SQLite every event has its number
    /// when it is committed.
    ///
    /// - Parameter isWaiting: false to leave the events to another server that is numbering.
    @discardableResult
    package func numberEvents(isWaiting: Bool = true) async throws(EngineFailure) -> Int {
        do { return try await db.numberEvents(isWaiting: isWaiting) } catch {
            throw EngineFailure(error)
        }
    }

    /// Yields after commits of this server that may have left events without numbers; one element
    /// can stand for many commits. For one reader.
    package var unnumbered: AsyncStream<Void> { db.unnumbered }

    /// Yields after this server has committed events of an app, until it is finished. What other
    /// servers commit gives no element.
    package func logSignals(
        of app: AppID
    ) -> (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation) {
        db.signals.signals(ofLogOf: app)
    }

    /// Reads the log of an app, with all events that were committed before the call. If they cannot
    /// be numbered now, the events that have numbers are read.
    func readingLog<Value: Sendable>(
        of app: AppID, _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws(EngineFailure) -> Value {
        let value: Value? = try await read { tx in
            try tx.hasPendingEvents(of: app) ? nil : body(tx)
        }
        if let value { return value }
        do { try await db.numberEvents(of: app) } catch {
            logger.warning("Events could not be numbered.", metadata: ["error": "\(error)"])
        }
        return try await read(body)
    }

    /// Emits events for changes that only time has caused: periods that ended, grace periods that
    /// ended, terms that will end soon. Returns how many purchases and customers were examined; 0
    /// if nothing is due. Idempotent and safe for several servers at once.
    ///
    /// - Throws: ``EngineFailure`` of the first app that failed, if nothing is due for the others.
    ///   A failing app does not delay the others.
    package func emitTimeBasedEvents() async throws(EngineFailure) -> Int {
        var count = 0
        var failure: EngineFailure?
        for settings in apps.values.sorted(by: { $0.id < $1.id }) {
            do { count += try await emitTimeBasedEvents(of: settings) } catch {
                failure = failure ?? error
            }
        }
        if count == 0, let failure { throw failure }
        return count
    }

    private func emitTimeBasedEvents(of settings: AppSettings) async throws(EngineFailure) -> Int {
        let app = settings.id
        let now = now()
        let reminded = try await emitReminders(of: settings)
        // Checking for due work must not wait for writers.
        let isDue = try await read { tx in
            try tx.hasDue(.transitions, of: app, by: now)
                || tx.hasDue(.grantEnds, of: app, by: now)
        }
        guard isDue else { return reminded }
        return try await reminded
            + transaction { tx in
                try tx.emitTransitions(of: app, dueBy: now, limit: Self.transitionBatch)
                    + tx.emitExpiredGrants(of: app, dueBy: now, limit: Self.transitionBatch)
            }
    }
}

extension DatabaseSession {
    /// Why a position is not a valid cursor of an app's log; nil if it is valid. The beginning is
    /// the same in every epoch.
    fileprivate func refusal(
        of place: LogPosition, in app: AppID, _ epochs: LogEpochs
    ) throws(StorageFailure) -> EngineFailure? {
        guard place.sequence > 0 else { return nil }
        guard place.epoch == epochs.current else {
            let shared = epochs.sharedCount(with: place.epoch).map { min($0, place.sequence) }
            return .outdatedCursor(goOnFrom: shared.map { LogPosition(epochs.current, $0) })
        }
        return try place.sequence <= lastSequence(of: app) ? nil : .unknownCursor(place)
    }

    fileprivate func events(
        of app: AppID, _ customer: CustomerID?, after sequence: Int64, limit: Int
    ) throws -> [LoggedEvent] {
        guard let customer else { return try events(of: app, after: sequence, limit: limit) }
        return try events(concerning: customer, in: app, after: sequence, limit: limit)
    }

    /// The events of a customer after a sequence number, in order: by any of the customer's ids,
    /// by an account token equal to one of them, and those of purchases from before they were
    /// linked.
    fileprivate func events(
        concerning id: CustomerID, in app: AppID, after sequence: Int64, limit: Int
    ) throws -> [LoggedEvent] {
        let ids = try customer(known: id, in: app)?.ids
        let own = try events(of: ids ?? [], in: app, after: sequence, limit: limit)
        let unnamed = try unnamedEvents(of: ids ?? [id], in: app, after: sequence)
        return Array((own + unnamed).sorted { $0.sequence < $1.sequence }.prefix(limit))
    }

    /// The last events of a customer, in order.
    func lastEvents(
        concerning state: CustomerState, in app: AppID, limit: Int
    ) throws -> [LoggedEvent] {
        try lastEvents(
            concerning: [state.id] + state.aliases, in: app, before: .max, limit: limit)
    }

    /// The last events of a customer before a sequence number, in order.
    fileprivate func lastEvents(
        concerning ids: [CustomerID], in app: AppID, before sequence: Int64, limit: Int
    ) throws -> [LoggedEvent] {
        let own = try lastEvents(of: ids, in: app, before: sequence, limit: limit)
        let unnamed = try unnamedEvents(of: ids, in: app, after: 0)
            .filter { $0.sequence < sequence }
        return (own + unnamed).sorted { $0.sequence < $1.sequence }.suffix(limit)
    }

    /// The events after a sequence number that have no customer and are in a customer's history:
    /// those by an account token equal to one of the ids, and those of the customer's purchases
    /// from before they were linked.
    fileprivate func unnamedEvents(
        of ids: [CustomerID], in app: AppID, after sequence: Int64
    ) throws -> [LoggedEvent] {
        let named = try eventsByToken(ids, in: app, after: sequence)
        let sequences = Set(named.map(\.sequence))
        return named
            + (try eventsBeforeLinks(of: ids, in: app, after: sequence)
                .filter { !sequences.contains($0.sequence) })
    }
}
