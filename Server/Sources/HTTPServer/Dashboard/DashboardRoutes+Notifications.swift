import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract

extension DashboardRoutes {
    private static let notificationsOnPage = 40
    private static let hour: Int64 = 3_600_000
    private static let week: Int64 = 7 * 24 * hour

    func addNotifications(to router: Router<ServerContext>) {
        livePage(DashboardPath.notifications.path, by: .everything, of: router, cameIn)
        page(DashboardPath.asked.path, of: router, asked)
        act(DashboardPath.notificationTest.path, for: .admin, of: router) { page, _ in
            let isAsked: Bool
            do {
                isAsked = try await engine.requestTestNotification(
                    of: app, in: page.environment)
            } catch { throw ProblemError(.testNotSent, detail: "\(error)") }
            guard isAsked else { throw ProblemError(.testNotSent, detail: Self.noKey) }
            return .done(.testAsked, .notifications)
        }
    }

    private static let noKey =
        "The configuration has no key for the App Store Server API: see app_store_key."

    /// How many notifications wait to be sent on.
    var forwardsWaiting: Int {
        engine.forwardingStates.filter { $0.app == app }.map(\.waiting).reduce(0, +)
    }

    // MARK: - Came in

    @Sendable private func cameIn(_ page: PageRequest) async throws -> String {
        let place = try page.cursor.map { text in
            guard let place = DocumentCursor(text) else { throw ProblemError(.cursorUnknown) }
            return place
        }
        let log = try await engine.notifications(
            of: app, in: page.environment, before: place, limit: Self.notificationsOnPage)
        let recent = try await recent(24 * Self.hour, page)
        let hasFigures = recent.isWhole && !recent.heads.isEmpty
        return NotificationsPage(
            .cameIn(
                .init(
                    day: hasFigures ? day(of: recent.heads) : nil,
                    hours: hasFigures ? Self.hours(of: recent.heads, page) : [],
                    items: log.lines.map(NotificationsPage.Incoming.init),
                    olderCursor: log.next?.text, isFirstPage: page.cursor == nil)),
            waiting: forwardsWaiting
        ).html(in: page.frame)
    }

    private func recent(_ span: Int64, _ page: PageRequest) async throws -> RecentNotifications {
        try await engine.recentNotifications(
            of: app, in: page.environment,
            since: Instant(milliseconds: page.frame.now.milliseconds - span))
    }

    private func day(of heads: [DocumentHead]) -> NotificationsPage.Day {
        let delays = heads.map(\.delay).sorted()
        func delay(_ part: Double) -> Int64 {
            delays.isEmpty ? 0 : delays[Int(Double(delays.count - 1) * part)]
        }
        return NotificationsPage.Day(
            received: heads.count, asked: heads.count { $0.source == .reconciliation },
            milliseconds: delay(0.5), slowMilliseconds: delay(0.99),
            repeated: engine.counts.notificationsRepeated,
            refused: engine.counts.notificationsRefused)
    }

    private static func hours(of heads: [DocumentHead], _ page: PageRequest) -> [Strip.Hour] {
        var hours = [Strip.Hour](repeating: .init(good: 0), count: 24)
        let first = page.frame.now.milliseconds / hour - 23
        for head in heads {
            let index = Int(head.signedAt.milliseconds / hour - first)
            guard hours.indices.contains(index) else { continue }
            if head.source == .reconciliation {
                hours[index].bad += 1
            } else {
                hours[index].good += 1
            }
        }
        return hours
    }

    // MARK: - Asked

    @Sendable private func asked(_ page: PageRequest) async throws -> String {
        let inquiries = try await engine.appStoreInquiries(of: app, in: page.environment)
        let recent = try await recent(Self.week, page)
        let missed = recent.heads.filter { $0.source == .reconciliation }
        return NotificationsPage(
            .asked(
                .init(
                    notifications: recent.heads.count, missed: missed.count,
                    latestMilliseconds: missed.map(\.delay).max() ?? 0,
                    nextAt: inquiries.backfillDueAt.map { Timestamp($0) },
                    respondedAt: inquiries.respondedAt.map { Timestamp($0) },
                    trouble: Self.trouble(inquiries, page), due: inquiries.due,
                    next: inquiries.next.map { check in
                        .init(
                            transaction: check.purchase.original.rawValue,
                            dueAt: Timestamp(check.dueAt),
                            askedAt: check.history.askedAt.map { Timestamp($0) },
                            failures: check.history.failures)
                    })), waiting: forwardsWaiting
        ).html(in: page.frame)
    }

    private static func trouble(_ inquiries: AppStoreInquiries, _ page: PageRequest) -> String? {
        if !inquiries.isConfigured { return noKey }
        let pause = inquiries.pausedUntil.map { " It is asked again at \(minute($0))." } ?? ""
        guard inquiries.failures > 0 else {
            return inquiries.pausedUntil == nil ? nil : "It asked for a pause.\(pause)"
        }
        return "It has not answered the last \(inquiries.failures) questions.\(pause)"
    }
}

extension NotificationsPage.Incoming {
    init(_ line: NotificationLine) {
        let way: Way =
            switch line.head.source {
            case .notification, .device: .sent
            case .reconciliation: .asked
            case .imported: .imported
            }
        self.init(
            signedAt: Timestamp(line.head.signedAt), receivedAt: Timestamp(line.head.receivedAt),
            type: line.type, subtype: line.subtype, way: way, customerID: line.owner?.rawValue,
            documentID: DocumentID(bytes: line.head.id).rawValue,
            transaction: line.purchase?.original.rawValue,
            accepted: line.forwards.count { $0.state == .accepted },
            waiting: line.forwards.count { $0.state != .accepted })
    }
}

extension DocumentHead {
    /// From the signature until it came, in milliseconds.
    fileprivate var delay: Int64 { max(0, receivedAt.milliseconds - signedAt.milliseconds) }
}

extension DocumentCursor {
    /// Milliseconds and id, as `text` writes them. Nil if it is not such a text.
    fileprivate init?(_ text: String) {
        let parts = text.split(separator: "-")
        guard parts.count == 2, let signedAt = Int64(parts[0]),
            let id = Hexadecimal.bytes(parts[1])
        else { return nil }
        self.init(signedAt: Instant(milliseconds: signedAt), id: id)
    }

    fileprivate var text: String { "\(signedAt.milliseconds)-\(Hexadecimal.text(id))" }
}

extension ProblemCatalogue.Entry {
    fileprivate static let testNotSent = Self(
        ProblemCode(rawValue: "test_not_sent"), .badGateway, "Apple was not asked for a test.",
        remedy: "Run `perennial check`: it says what is missing.")
}
