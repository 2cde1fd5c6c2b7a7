import Engine
import Ledger
import Storage
import Testing

/// Checks an app's log by rules that hold at any time, in whatever order documents arrive.
struct LogCheck {
    let engine: Engine
    let app: AppID

    /// Reads every event, page by page. Each event has a higher position than the previous one.
    func events(pages: Int = 100) async throws -> [LoggedEvent] {
        var events: [LoggedEvent] = []
        while true {
            let page = try await engine.events.list(
                of: app, after: events.last?.sequence ?? 0, limit: pages)
            events += page
            guard page.count == pages else { break }
        }
        #expect(events.map(\.sequence) == events.indices.map { Int64($0 + 1) }, "the log has gaps")
        return events
    }

    /// Emits due events, and then compares the log with the purchases in the database.
    ///
    /// - Parameter isAll: whether there are no other purchases.
    @discardableResult
    func check(
        _ purchases: [Timeline], isAll: Bool = true, at now: Instant, _ place: Comment
    ) async throws -> [LoggedEvent] {
        while try await engine.events.emitTimeBased() > 0 {}
        let events = try await events()
        Self.checkCustomers(events, place)
        let told = Dictionary(grouping: events.filter { $0.entry.purchase != nil }) {
            $0.entry.purchase
        }
        if isAll { #expect(Set(told.keys) == Set(purchases.map { $0.purchase }), place) }
        for purchase in purchases {
            Self.check(told[purchase.purchase] ?? [], of: purchase, at: now, place)
        }
        return events
    }

    /// Each event begins with the state in which the previous event ended. The last event ends with
    /// the current state. The money adds up. No event of a document is emitted twice.
    static func check(
        _ events: [LoggedEvent], of purchase: Timeline, at now: Instant, _ place: Comment
    ) {
        let changes = events.map(\.entry.change)
        for (one, next) in zip(changes, changes.dropFirst()) {
            #expect(one.after == next.before, place)
        }
        #expect(changes.first?.before == nil, place)
        #expect(changes.last?.after == purchase.status(at: now), place)
        var money: [String: Int64] = [:]
        for moved in changes.compactMap(\.money) {
            money[moved.currency, default: 0] += moved.milliunits
        }
        #expect(
            money.filter { $0.value != 0 } == purchase.netAmounts.filter { $0.value != 0 }, place)
        let told = events.map { event in
            var change = event.entry.change
            (change.before, change.after) = (nil, nil)
            return "\(change) \(event.entry.cause) \(event.entry.knownAt)"
        }
        #expect(Set(told).count == told.count, place)
    }

    private static func checkCustomers(_ events: [LoggedEvent], _ place: Comment) {
        for (customer, theirs) in Dictionary(grouping: events, by: \.entry.customer) {
            let numbers = theirs.compactMap(\.customerSequence)
            let expected = customer == nil ? [] : theirs.indices.map { Int64($0 + 1) }
            #expect(numbers == expected, place)
        }
    }
}
