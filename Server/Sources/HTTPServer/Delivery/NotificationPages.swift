import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract

/// The pages about notifications: received, requested, and forwarded.
struct NotificationPages: PageGroup {
    let routes: DashboardRoutes

    func add(to router: Router<ServerContext>) {
        routes.livePage(DashboardPath.notifications.path, by: .everything, of: router, cameIn)
        routes.page(DashboardPath.asked.path, of: router, asked)
        routes.act(DashboardPath.notificationTest.path, for: .admin, of: router) { page, _ in
            let isAsked: Bool
            do {
                isAsked = try await engine.notifications.requestTest(
                    of: app, in: page.environment)
            } catch { throw ProblemError(.testNotSent, detail: "\(error)") }
            guard isAsked else { throw ProblemError(.testNotSent, detail: Self.noKey) }
            return .done(.testAsked, .notifications)
        }
    }

    private static let noKey =
        "The configuration has no key for the App Store Server API. Add `app_store:` to the app."

    /// How many notifications wait to be forwarded.
    var forwardsWaiting: Int {
        engine.forwarding.states.filter { $0.app == app }.map(\.waiting).reduce(0, +)
    }

    // MARK: - Received

    @Sendable private func cameIn(_ page: PageRequest) async throws -> String {
        let list = try await server.notificationRoutes.list(
            of: app, in: page.environment, after: page.cursor)
        let summary = try await server.notificationRoutes.summary(of: app, in: page.environment)
        let hasFigures = summary.complete && summary.received > 0
        return NotificationsPage(
            .cameIn(
                .init(
                    day: hasFigures ? NotificationsPage.Day(summary) : nil,
                    hours: hasFigures ? summary.hours.map(Strip.Hour.init) : [],
                    items: list.items.map(NotificationsPage.Incoming.init),
                    olderCursor: list.nextCursor, isFirstPage: page.cursor == nil)),
            waiting: forwardsWaiting
        ).html(in: page.frame)
    }

    // MARK: - Asked

    @Sendable private func asked(_ page: PageRequest) async throws -> String {
        let inquiries = try await server.notificationRoutes.storeInquiries(
            of: app, in: page.environment)
        return NotificationsPage(
            .asked(
                .init(
                    notifications: inquiries.notifications, missed: inquiries.backfilled,
                    latestMilliseconds: Int64(inquiries.longestDelayMilliseconds ?? 0),
                    nextAt: inquiries.nextBackfillAt, respondedAt: inquiries.respondedAt,
                    trouble: Self.trouble(inquiries), due: inquiries.due,
                    next: inquiries.next.map { check in
                        .init(
                            transaction: check.originalTransactionID, dueAt: check.dueAt,
                            askedAt: check.askedAt, failures: check.failures)
                    })), waiting: forwardsWaiting
        ).html(in: page.frame)
    }

    private static func trouble(_ inquiries: StoreInquiries) -> String? {
        if !inquiries.configured { return noKey }
        let pause =
            inquiries.pausedUntil.map {
                let moment = HealthChecks.minute(Instant(milliseconds: $0.milliseconds))
                return " The server asks it again at \(moment)."
            } ?? ""
        guard inquiries.failures > 0 else {
            return inquiries.pausedUntil == nil ? nil : "The App Store asked for a pause.\(pause)"
        }
        return "\(HealthChecks.silence(inquiries.failures))\(pause)"
    }
}

extension NotificationsPage.Day {
    fileprivate init(_ summary: NotificationSummary) {
        self.init(
            received: summary.received, asked: summary.backfilled,
            milliseconds: Int64(summary.medianDelayMilliseconds ?? 0),
            slowMilliseconds: Int64(summary.slowDelayMilliseconds ?? 0),
            repeated: summary.repeated, refused: summary.refused)
    }
}

extension Strip.Hour {
    fileprivate init(_ hour: NotificationSummary.Hour) {
        self.init(good: hour.received - hour.backfilled, bad: hour.backfilled)
    }
}

extension NotificationsPage.Incoming {
    init(_ line: NotificationList.Line) {
        let way: Way =
            switch line.source {
            case "reconciliation": .asked
            case "import": .imported
            default: .sent
            }
        self.init(
            signedAt: line.signedAt, receivedAt: line.receivedAt, type: line.type,
            subtype: line.subtype, way: way, customerID: line.customerID,
            documentID: line.documentID, transaction: line.originalTransactionID,
            accepted: line.forwardsAccepted, waiting: line.forwardsWaiting)
    }
}

extension ProblemCatalogue.Entry {
    fileprivate static let testNotSent = Self(
        ProblemCode(rawValue: "test_not_sent"), .badGateway,
        "The server could not ask Apple for a test.",
        remedy: "Run `perennial check`: it says what is missing.")
}
