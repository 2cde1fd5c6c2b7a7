import Ledger
import Storage

/// Pages of the event log, for an app and for a customer.
struct EventReader {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// Why a position is not a valid cursor of an app's log. Returns nil if the position is valid.
    /// The position before the first event is the same in every epoch.
    func refusal(
        of place: LogPosition, in app: AppID, _ epochs: LogEpochs
    ) throws(StorageFailure) -> EngineFailure? {
        guard place.sequence > 0 else { return nil }
        guard place.epoch == epochs.current else {
            let shared = epochs.sharedCount(with: place.epoch).map { min($0, place.sequence) }
            return .outdatedCursor(goOnFrom: shared.map { LogPosition(epochs.current, $0) })
        }
        return try place.sequence <= tx.events.lastSequence(of: app) ? nil : .unknownCursor(place)
    }

    func events(
        of app: AppID, _ customer: CustomerID?, after sequence: Int64, limit: Int
    ) throws -> [LoggedEvent] {
        guard let customer else { return try tx.events.all(of: app, after: sequence, limit: limit) }
        return try events(concerning: customer, in: app, after: sequence, limit: limit)
    }

    /// The events of a customer after a sequence number, in order. Three kinds of events are
    /// included: events of any id of the customer, events of an account token that equals one of
    /// the ids, and events of the customer's purchases from before the purchases were linked.
    func events(
        concerning id: CustomerID, in app: AppID, after sequence: Int64, limit: Int
    ) throws -> [LoggedEvent] {
        let ids = try tx.customers.find(known: id, in: app)?.ids
        let own = try tx.events.all(of: ids ?? [], in: app, after: sequence, limit: limit)
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
    func lastEvents(
        concerning ids: [CustomerID], in app: AppID, before sequence: Int64, limit: Int
    ) throws -> [LoggedEvent] {
        let own = try tx.events.last(of: ids, in: app, before: sequence, limit: limit)
        let unnamed = try unnamedEvents(of: ids, in: app, after: 0)
            .filter { $0.sequence < sequence }
        return (own + unnamed).sorted { $0.sequence < $1.sequence }.suffix(limit)
    }

    /// The events after a sequence number that have no customer but belong to a customer's history.
    /// These are events of an account token that equals one of the ids, and events of the
    /// customer's purchases from before the purchases were linked.
    func unnamedEvents(
        of ids: [CustomerID], in app: AppID, after sequence: Int64
    ) throws -> [LoggedEvent] {
        let named = try tx.accountTokens.events(ids, in: app, after: sequence)
        let sequences = Set(named.map(\.sequence))
        return named
            + (try tx.events.beforeLinks(of: ids, in: app, after: sequence)
                .filter { !sequences.contains($0.sequence) })
    }
}
