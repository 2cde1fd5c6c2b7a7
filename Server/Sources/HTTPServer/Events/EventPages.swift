import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// A part of the log, newest event first.
struct NewestEvents: Sendable {
    var events: [PerennialContract.Event]
    /// The events with numbers below this one are on the next page. Nil if there are no older
    /// events.
    var older: Int64?
}

/// The page of events, and the newest events that other pages show.
struct EventPages: PageGroup {
    let routes: DashboardRoutes

    private static let eventsOnPage = 36
    /// The maximum number of parts of the log that are read for one page. Further events are on the
    /// next page.
    private static let piecesMax = 20

    func add(to router: Router<ServerContext>) {
        routes.livePage("/events", of: router, show)
    }

    @Sendable private func show(_ page: PageRequest) async throws -> String {
        let filter = EventsPage.Filter(
            customerID: page.query.trimmed("customer_id") ?? "",
            what: page.query["what"].flatMap(EventsPage.What.init) ?? .everything,
            from: page.query["from"] ?? "", to: page.query["to"] ?? "")
        let days = try Self.span(from: page.query["from"], to: page.query["to"])
        let matches: @Sendable (PerennialContract.Event) -> Bool = { event in
            filter.what.contains(event) && days.contains(event.at.milliseconds)
        }
        let before = try page.eventCursor
        let found: NewestEvents
        if let id = page.query.trimmed("customer_id") {
            found = try await newest(
                of: CustomerID(rawValue: VisibleText.decoded(id)), before: before,
                since: days.lowerBound,
                limit: Self.eventsOnPage
            ) { $0.isIn(page.environment) && matches($0) }
        } else {
            found = try await newest(
                before: before, since: days.lowerBound, limit: Self.eventsOnPage,
                in: page.environment, matches)
        }
        return EventsPage(
            filter: filter, events: found.events, olderCursor: found.older.map { "\($0)" },
            isFirstPage: page.frame.isLive && before == nil
        ).html(in: page.frame)
    }

    /// Parses two days as a range of milliseconds: from the beginning of the first day to the end
    /// of the last one.
    private static func span(from: String?, to: String?) throws -> Range<Int64> {
        func day(_ text: String) throws -> Int64 {
            guard let day = CivilDate(text) else { throw ProblemError(.timeNotReadable) }
            return day.dayNumber * 86_400_000
        }
        let first = try from.map(day) ?? .min
        let last = try to.map { try day($0) + 86_400_000 } ?? .max
        return first..<max(first, last)
    }

    // MARK: - The log from its end

    /// Returns the newest events of a customer before a number, newest first. The events are read
    /// in parts, like those of the whole log.
    ///
    /// - Parameter since: in milliseconds; events that were known earlier are left out.
    func newest(
        of id: CustomerID, before: Int64? = nil, since: Int64 = .min, limit: Int,
        _ matches: (PerennialContract.Event) -> Bool = { _ in true }
    ) async throws -> NewestEvents {
        var end = before ?? .max
        var found: [PerennialContract.Event] = []
        for _ in 0..<Self.piecesMax where end > 1 && found.count < limit {
            let page = try await engine.events.lastPage(
                of: app, customer: id, before: end, limit: EventService.eventsMax)
            found += page.events.reversed().map { PerennialContract.Event($0, in: page.epochs) }
                .filter(matches)
            end = page.events.count < EventService.eventsMax ? 0 : page.events[0].sequence
            let oldest = page.events.first?.entry.knownAt.milliseconds ?? .max
            if oldest < since { end = 0 }
        }
        return Self.page(of: found, limit: limit, end: end)
    }

    /// Returns the newest events before a number, newest first. Reads the log from its end in
    /// parts. Stops when there are enough events, or when a part contains events that were known
    /// before a moment. In the second case, all earlier events were known even earlier.
    ///
    /// - Parameter since: the moment, in milliseconds.
    func newest(
        before: Int64?, since: Int64 = .min, limit: Int, in environment: Ledger.Environment,
        _ matches: (PerennialContract.Event) -> Bool
    ) async throws -> NewestEvents {
        let last = try await engine.events.lastLogPosition(of: app)
        var end = min(before ?? .max, last.sequence + 1)
        var found: [PerennialContract.Event] = []
        for _ in 0..<Self.piecesMax where end > 1 && found.count < limit {
            let begin = max(0, end - 1 - Int64(EventService.eventsMax))
            let page = try await engine.events.page(
                of: app, after: LogPosition(last.epoch, begin), limit: EventService.eventsMax)
            found += page.events.reversed().map { PerennialContract.Event($0, in: page.epochs) }
                .filter { $0.sequence < end && $0.isIn(environment) && matches($0) }
            end = begin + 1
            let oldest = page.events.first?.entry.knownAt.milliseconds ?? .max
            if oldest < since { end = 0 }
        }
        return Self.page(of: found, limit: limit, end: end)
    }

    /// - Parameter end: the first number that was read; 0 or 1 if there are no older events.
    private static func page(
        of found: [PerennialContract.Event], limit: Int, end: Int64
    ) -> NewestEvents {
        let shown = found.prefix(limit)
        let older = found.count > limit ? shown.last?.sequence : end > 1 ? end : nil
        return NewestEvents(events: named(Array(shown)), older: older)
    }

    /// Adds customers to events without a customer. Such an event was recorded before its purchase
    /// was linked. The event gets the customer to whom the purchase was linked soon afterwards.
    /// `events` are newest first.
    private static func named(
        _ events: [PerennialContract.Event]
    ) -> [PerennialContract.Event] {
        var owners: [String: String] = [:]
        return events.map { event in
            guard let purchase = event.purchaseID else { return event }
            if event.type == .linked { owners[purchase] = event.customerID }
            guard event.customerID == nil else { return event }
            var event = event
            event.customerID = owners[purchase]
            return event
        }
    }
}

extension PageRequest {
    /// The cursor of the page: its events have numbers below this one. Nil for the newest events.
    var eventCursor: Int64? {
        get throws {
            try cursor.map { text in
                guard let number = Int64(text), number > 0 else {
                    throw ProblemError(.cursorUnknown)
                }
                return number
            }
        }
    }
}

extension PerennialContract.Event {
    /// Whether the event belongs to this environment, or to no environment.
    fileprivate func isIn(_ environment: Ledger.Environment) -> Bool {
        self.environment.map { $0 == StoreEnvironment(environment) } ?? true
    }
}

extension EventsPage.What {
    private static let failures: Set<EventType> = [
        .billingFailed, .graceBegan, .graceEnded, .retryBegan, .accessUnconfirmed,
    ]
    private static let ownershipTypes: Set<EventType> = [
        .linked, .moved, .movedAway, .unlinked, .shared, .shareEnded, .familyShared,
        .seatAssigned, .seatRevoked, .seatClaimed, .seatReleased, .blocked, .unblocked, .granted,
        .grantEnded, .customerMerged,
        .aliasAdded, .aliasRemoved,
        .customerErased,
    ]

    fileprivate func contains(_ event: PerennialContract.Event) -> Bool {
        let wasOpen = event.before?.active ?? false
        let isOpen = event.after?.active ?? false
        return switch self {
        case .everything: true
        case .payments: event.money != nil && event.type != .refunded
        case .refunds: event.type == .refunded
        case .opened: isOpen && !wasOpen || event.type == .granted
        case .shut: wasOpen && !isOpen || event.type == .grantEnded
        case .failed: Self.failures.contains(event.type)
        case .ownership: Self.ownershipTypes.contains(event.type)
        case .wallets: event.wallet != nil
        }
    }
}
