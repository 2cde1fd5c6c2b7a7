import Ledger
import Storage

package typealias LoggedEvent = Storage.Event
package typealias EventEntry = Storage.EventEntry

extension Engine {
    /// Events in one answer.
    package static let eventsMax = StoreTransaction.eventsMax
    /// Purchases of one app that are told of at a time.
    private static let turnsMax = 200

    /// The events of an app behind one, in their order; only those of a customer, if one is named,
    /// who may be known by the account token of purchases alone. A customer never heard of has
    /// none.
    ///
    /// - Parameter sequence: of the last event that is known already; 0 for the first.
    /// - Throws: ``EngineFailure``: `unknownCursor` for one behind the last, as where the database
    ///   is an earlier backup: whoever went on from it would miss what comes until then.
    package func events(
        of appID: AppID, customer id: CustomerID? = nil, after sequence: Int64, limit: Int
    ) async throws(EngineFailure) -> [LoggedEvent] {
        _ = try app(appID)
        guard limit <= Self.eventsMax else {
            throw .tooMuch(what: "events", limit: Self.eventsMax)
        }
        let events: [LoggedEvent]? = try await reading { tx in
            guard try sequence <= tx.lastSequence(of: appID) else { return nil }
            guard let id else { return try tx.events(of: appID, after: sequence, limit: limit) }
            return try tx.events(concerning: id, in: appID, after: sequence, limit: limit)
        }
        guard let events else { throw .unknownCursor(sequence) }
        return events
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
