import Ledger
import Storage

package typealias LoggedEvent = Storage.Event
package typealias EventEntry = Storage.EventEntry
package typealias LogPlace = Storage.LogPlace
package typealias LogEpochs = Storage.LogEpochs

/// Some events of an app's log, and where to go on from.
package struct EventPage: Hashable, Sendable {
    package var events: [LoggedEvent]
    /// Of the log: an event's id names the epoch that the event belongs to.
    package var epochs: LogEpochs
    package var next: LogPlace
}

extension Engine {
    /// Events in one answer.
    package static let eventsMax = StoreTransaction.eventsMax
    /// Purchases of one app that are told of at a time.
    private static let turnsMax = 200

    /// The events of an app behind one, in their order; only those of a customer, if one is named,
    /// who may be known by the account token of purchases alone. A customer never heard of has
    /// none.
    ///
    /// - Parameter place: where the reader has come to; nil for the beginning.
    /// - Throws: ``EngineFailure``: `unknownCursor` for a place behind the last event, and
    ///   `outdatedCursor` for one of the log before a restore, however far the log has come since:
    ///   whoever went on from either would miss events.
    package func eventPage(
        of appID: AppID, customer id: CustomerID? = nil, after place: LogPlace?, limit: Int
    ) async throws(EngineFailure) -> EventPage {
        _ = try app(appID)
        guard limit <= Self.eventsMax else {
            throw .tooMuch(what: "events", limit: Self.eventsMax)
        }
        let page: Result<EventPage, EngineFailure> = try await reading { tx in
            let epochs = try tx.logEpochs(of: appID)
            let place = place ?? LogPlace(epochs.current, 0)
            if let failure = try tx.refusal(of: place, in: appID, epochs) {
                return .failure(failure)
            }
            let events = try tx.events(of: appID, id, after: place.sequence, limit: limit)
            return .success(
                EventPage(
                    events: events, epochs: epochs,
                    next: LogPlace(epochs.current, events.last?.sequence ?? place.sequence)))
        }
        return try page.get()
    }

    /// The same events, without a name for their place: for whoever keeps no cursor.
    ///
    /// - Parameter sequence: of the last event that is known already; 0 for the first.
    package func events(
        of appID: AppID, customer id: CustomerID? = nil, after sequence: Int64, limit: Int
    ) async throws(EngineFailure) -> [LoggedEvent] {
        let epochs = try await reading { tx in try tx.logEpochs(of: appID) }
        let place = LogPlace(epochs.current, sequence)
        return try await eventPage(of: appID, customer: id, after: place, limit: limit).events
    }

    /// Writes events for what time alone has done by now: periods that ended, grace that is over,
    /// terms that will soon be. Returns how many purchases and customers were looked at; 0 where
    /// nothing is due. Harmless to repeat, and for several servers at once.
    ///
    /// - Throws: ``EngineFailure`` of the first app that failed, when nothing is due of the others:
    ///   none waits for another.
    package func tellTurns() async throws(EngineFailure) -> Int {
        var count = 0
        var failure: EngineFailure?
        for settings in apps.values.sorted(by: { $0.id < $1.id }) {
            do { count += try await tellTurns(of: settings) } catch { failure = failure ?? error }
        }
        if count == 0, let failure { throw failure }
        return count
    }

    private func tellTurns(of settings: AppSettings) async throws(EngineFailure) -> Int {
        let app = settings.id
        let now = now()
        let reminded = try await tellReminders(of: settings)
        // A look that finds nothing must not wait for those who write.
        let isDue = try await reading { tx in
            try tx.hasTurns(of: app, dueBy: now) || tx.hasEndedGrants(of: app, dueBy: now)
        }
        guard isDue else { return reminded }
        return try await reminded
            + transaction { tx in
                try tx.tellTurns(of: app, dueBy: now, limit: Self.turnsMax)
                    + tx.tellEndedGrants(of: app, dueBy: now, limit: Self.turnsMax)
            }
    }
}

extension StoreTransaction {
    /// Why a place is no cursor of an app's log; nil where it is one. The beginning is the same in
    /// every epoch.
    fileprivate func refusal(
        of place: LogPlace, in app: AppID, _ epochs: LogEpochs
    ) throws(StorageFailure) -> EngineFailure? {
        guard place.sequence > 0 else { return nil }
        guard place.epoch == epochs.current else {
            let shared = epochs.shared(with: place.epoch).map { min($0, place.sequence) }
            return .outdatedCursor(goOnFrom: shared.map { LogPlace(epochs.current, $0) })
        }
        return try place.sequence <= lastSequence(of: app) ? nil : .unknownCursor(place)
    }

    fileprivate func events(
        of app: AppID, _ customer: CustomerID?, after sequence: Int64, limit: Int
    ) throws -> [LoggedEvent] {
        guard let customer else { return try events(of: app, after: sequence, limit: limit) }
        return try events(concerning: customer, in: app, after: sequence, limit: limit)
    }

    /// The events of a customer behind one, in their order: by any id of theirs, and by an account
    /// token that is one.
    fileprivate func events(
        concerning id: CustomerID, in app: AppID, after sequence: Int64, limit: Int
    ) throws -> [LoggedEvent] {
        let ids = try customer(known: id, in: app)?.ids
        let own = try events(of: ids ?? [], in: app, after: sequence, limit: limit)
        let named = try namedEvents(ids ?? [id], in: app, after: sequence)
        return Array((own + named).sorted { $0.sequence < $1.sequence }.prefix(limit))
    }

    /// The last of them.
    func lastEvents(
        concerning state: CustomerState, in app: AppID, limit: Int
    ) throws -> [LoggedEvent] {
        let ids = [state.id] + state.aliases
        let own = try lastEvents(of: ids, in: app, limit: limit)
        let named = try namedEvents(ids, in: app, after: 0)
        return (own + named).sorted { $0.sequence < $1.sequence }.suffix(limit)
    }
}
