import Dashboard
import Engine
import Ledger
import PerennialContract
import Storage

extension WebhookPages {
    /// The hours that the strip of a webhook shows.
    private static let stripHours = 48
    /// The maximum number of deliveries that are read for the figures of a webhook.
    private static let figuresMax = 2_000
    /// The maximum number of pages of events that are read to count the waiting customers.
    private static let eventPagesMax = 20
    private static let hour: Int64 = 3_600_000

    /// The newest deliveries of a webhook, and whether there are more.
    private struct Newest {
        var items: [WebhookDelivery] = []
        var hasMore = false
    }

    /// The figures of a webhook: about all waiting deliveries, and about the deliveries of the last
    /// hours. If there are too many deliveries to read, figures that depend on the unread
    /// deliveries are left out.
    func figures(_ id: WebhookID, _ page: PageRequest) async throws -> WebhookFigures {
        let now = page.frame.now.milliseconds
        let first = now - now % Self.hour - Int64(Self.stripHours - 1) * Self.hour
        let recent = try await deliveries(to: id, in: nil) { $0.createdAt.milliseconds >= first }
        let waiting = try await deliveries(to: id, in: "waiting") { _ in true }
        let last = recent.items.filter { $0.lastAttemptAt != nil }.max {
            $0.lastAttemptAt ?? $0.createdAt < $1.lastAttemptAt ?? $1.createdAt
        }
        var figures = WebhookFigures(
            hours: Self.hours(of: recent, since: first), waiting: waiting.items.count,
            delivered: recent.items.count { $0.state == .delivered },
            deliveredIsMore: recent.hasMore, lastStatus: last?.lastStatus,
            lastTrouble: last?.lastTrouble)
        if waiting.hasMore {
            // This state was read at the last refresh, which may have been before the backlog grew.
            let state = engine.webhooks.states.first { $0.app == app && $0.webhook == id }
            let known = state.flatMap { $0.waiting > waiting.items.count ? $0 : nil }
            figures.waiting = known?.waiting ?? waiting.items.count
            figures.waitingIsMore = known == nil
            figures.oldestWaiting = known.map {
                Timestamp(engine.context.serverTime - $0.oldestAge)
            }
        } else {
            figures.waitingCustomers = try await customers(of: waiting.items.compactMap(\.sequence))
            figures.oldestWaiting = waiting.items.map(\.createdAt).min()
            figures.nextAttemptAt = waiting.items.compactMap(\.nextAttemptAt).min()
        }
        figures.triedUntil = figures.oldestWaiting.map {
            Timestamp(
                milliseconds: $0.milliseconds + WebhookVerdict.triedFor.wholeMilliseconds)
        }
        return figures
    }

    /// The successes and failures of each hour. Omits hours that were not read completely.
    private static func hours(of recent: Newest, since first: Int64) -> [Strip.Hour] {
        var hours = [Strip.Hour](repeating: .init(good: 0, bad: 0), count: stripHours)
        var oldest = hours.count
        for delivery in recent.items {
            let index = Int((delivery.createdAt.milliseconds - first) / hour)
            guard hours.indices.contains(index) else { continue }
            oldest = min(oldest, index)
            switch delivery.state {
            case .delivered: hours[index].good += 1
            case .waiting: hours[index].waiting += 1
            default: hours[index].bad += 1
            }
        }
        if recent.hasMore { return Array(hours.dropFirst(oldest + 1)) }
        return recent.items.isEmpty ? [] : hours
    }

    /// The number of customers in the events with these numbers. Returns nil if the numbers are too
    /// far apart to be counted.
    private func customers(of sequences: [Int64]) async throws -> Int? {
        guard let first = sequences.min(), let last = sequences.max() else { return 0 }
        let wanted = Set(sequences)
        let epoch = try await engine.events.lastLogPosition(of: app).epoch
        var (place, customers) = (LogPosition(epoch, first - 1), Set<CustomerID>())
        for _ in 0..<Self.eventPagesMax where place.sequence < last {
            let page = try await engine.events.page(
                of: app, after: place, limit: EventService.eventsMax)
            customers.formUnion(
                page.events.filter { wanted.contains($0.sequence) }.compactMap(\.entry.customer))
            guard page.next.sequence > place.sequence else { break }
            place = page.next
        }
        return place.sequence < last ? nil : customers.count
    }

    /// Reads the newest deliveries, as long as a condition holds.
    private func deliveries(
        to id: WebhookID, in state: String?, _ isWanted: (WebhookDelivery) -> Bool
    ) async throws -> Newest {
        var found = Newest()
        var cursor: String?
        while found.items.count < Self.figuresMax {
            let page = try await server.deliveryRoutes.list(
                to: id, of: app, in: state, after: cursor, limit: EventService.eventsMax)
            found.items += page.items.prefix(while: isWanted)
            guard let next = page.nextCursor, page.items.last.map(isWanted) ?? false else {
                return found
            }
            cursor = next
        }
        let further = try await server.deliveryRoutes.list(
            to: id, of: app, in: state, after: cursor, limit: 1)
        found.hasMore = further.items.first.map(isWanted) ?? false
        return found
    }
}
