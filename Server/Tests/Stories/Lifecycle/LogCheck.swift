import Engine
import Ledger
import Storage
import Testing

/// Holds an app's log against what must be true of it at any time, whatever came when.
struct LogCheck {
    let engine: Engine
    let app: AppID

    /// Every event, page by page; each is a place further than the last.
    func events(pages: Int = 100) async throws -> [LoggedEvent] {
        var events: [LoggedEvent] = []
        while true {
            let page = try await engine.events.list(
                of: app, after: events.last?.sequence ?? 0, limit: pages)
            events += page
            guard page.count == pages else { break }
        }
        #expect(events.map(\.sequence) == events.indices.map { Int64($0 + 1) }, "gaps in the log")
        return events
    }

    /// Tells what is due, then compares the log with the purchases as they are.
    ///
    /// - Parameter isAll: no other purchase is there.
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

    /// Each begins where the last one ended; the last ends with what is; the money adds up; nothing
    /// that a document says is told twice.
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
