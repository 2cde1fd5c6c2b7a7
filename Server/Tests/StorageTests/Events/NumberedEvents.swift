import Ledger
import Testing

@testable import Storage

// Events that matter only for their numbers.

/// Returns an event of a customer. The time in the event identifies the event.
func numberedEntry(_ number: Int, of customer: CustomerID?) -> EventEntry {
    EventEntry(
        app: app, customer: customer, purchase: nil, change: Change(.aliasAdded, at: now),
        knownAt: now + .seconds(number), cause: .request, other: "other")
}

extension LoggedEvent {
    var number: Int { (entry.knownAt - now).wholeSeconds }
}

extension Duration {
    var wholeSeconds: Int { Int(components.seconds) }
}

extension Database {
    func tell(_ number: Int, of customer: CustomerID?) async throws {
        try await transaction { try $0.events.append([numberedEntry(number, of: customer)]) }
    }

    /// The events that have a number.
    func numbered(after sequence: Int64 = 0) async throws -> [LoggedEvent] {
        try await read { try $0.events.all(of: app, after: sequence, limit: 5_000) }
    }

    func pendingCount() async throws -> Int {
        try await read { try $0.pendingEvents.all(of: app, limit: 5_000).count }
    }
}

/// Expects that the numbers of the app and of each customer have no gaps and no repetitions.
func expectCounted(_ events: [LoggedEvent]) {
    #expect(events.map(\.sequence) == events.indices.map { Int64($0 + 1) })
    for own in Dictionary(grouping: events, by: \.entry.customer)
    where own.key != nil {
        #expect(
            own.value.map(\.customerSequence)
                == own.value.indices.map { Int64($0 + 1) },
            "\(own.key?.rawValue ?? "")")
    }
}
