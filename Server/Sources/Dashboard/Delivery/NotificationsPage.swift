import PerennialContract

/// The pages `/notifications`, `…/forwarded` and `…/asked`: did Apple's notifications arrive, and
/// were they forwarded?
package struct NotificationsPage: Sendable {
    package var content: Content
    /// How many notifications wait to be forwarded.
    package var waiting: Int

    package enum Content: Sendable {
        case cameIn(CameIn)
        case forwarded(Forwarded)
        case asked(Asked)
    }

    package struct CameIn: Sendable {
        package var day: Day?
        /// The counts of the last 24 hours, by hour, the oldest first. Notifications that had to be
        /// requested from Apple count as failures.
        package var hours: [Strip.Hour]
        /// The notifications, the latest signature first.
        package var items: [Incoming]
        package var olderCursor: String?
        /// Whether this is the page with the newest notifications, to which new ones are added.
        package var isFirstPage: Bool

        package init(
            day: Day? = nil, hours: [Strip.Hour] = [], items: [Incoming],
            olderCursor: String? = nil, isFirstPage: Bool = true
        ) {
            self.day = day
            self.hours = hours
            self.items = items
            self.olderCursor = olderCursor
            self.isFirstPage = isFirstPage
        }
    }

    /// The numbers of the last 24 hours, and of this server.
    package struct Day: Hashable, Sendable {
        package var received: Int
        /// How many of the notifications were requested from Apple, because they had not arrived.
        package var asked: Int
        /// The time from Apple's signature to the arrival, in milliseconds: the median, and the
        /// 99th percentile.
        package var milliseconds: Int64
        package var slowMilliseconds: Int64
        /// The number of repeated and of refused notifications since this server started.
        package var repeated: Int
        package var refused: Int

        package init(
            received: Int, asked: Int, milliseconds: Int64, slowMilliseconds: Int64,
            repeated: Int, refused: Int
        ) {
            self.received = received
            self.asked = asked
            self.milliseconds = milliseconds
            self.slowMilliseconds = slowMilliseconds
            self.repeated = repeated
            self.refused = refused
        }
    }

    /// One notification that came in.
    package struct Incoming: Sendable {
        package var signedAt: Timestamp
        package var receivedAt: Timestamp
        /// The type and the subtype, in Apple's words.
        package var type: String
        package var subtype: String?
        package var way: Way
        package var customerID: String?
        package var documentID: String
        /// The first transaction of the purchase that the notification is about.
        package var transaction: String?
        /// The number of forwarding addresses that have accepted the notification, and the number
        /// of those that have not.
        package var accepted: Int
        package var waiting: Int

        /// How a notification came to this server.
        package enum Way: Sendable {
            case sent
            /// The notification was requested from Apple, because it had not arrived.
            case asked
            case imported
        }

        package init(
            signedAt: Timestamp, receivedAt: Timestamp, type: String, subtype: String? = nil,
            way: Way = .sent, customerID: String? = nil, documentID: String,
            transaction: String? = nil, accepted: Int = 0, waiting: Int = 0
        ) {
            self.signedAt = signedAt
            self.receivedAt = receivedAt
            self.type = type
            self.subtype = subtype
            self.way = way
            self.customerID = customerID
            self.documentID = documentID
            self.transaction = transaction
            self.accepted = accepted
            self.waiting = waiting
        }
    }

    package struct Forwarded: Sendable {
        package var addresses: [Address]
        package var forwards: ForwardList

        package init(addresses: [Address], forwards: ForwardList) {
            self.addresses = addresses
            self.forwards = forwards
        }
    }

    /// An address that notifications are forwarded to.
    package struct Address: Sendable {
        package var url: String
        package var environments: [StoreEnvironment]
        /// What is wrong with the address: `answers 500`. Nil if the address accepts notifications.
        package var trouble: String?
        package var waiting: Int
        package var oldestWaiting: Timestamp?
        package var accepted: Int
        package var nextAttemptAt: Timestamp?

        package init(
            url: String, environments: [StoreEnvironment], trouble: String? = nil,
            waiting: Int = 0, oldestWaiting: Timestamp? = nil, accepted: Int = 0,
            nextAttemptAt: Timestamp? = nil
        ) {
            self.url = url
            self.environments = environments
            self.trouble = trouble
            self.waiting = waiting
            self.oldestWaiting = oldestWaiting
            self.accepted = accepted
            self.nextAttemptAt = nextAttemptAt
        }
    }

    /// The requests to Apple: for notifications that had not arrived, and about purchases.
    package struct Asked: Sendable {
        /// The number of notifications in the last week, and how many of them had not arrived.
        package var notifications: Int
        package var missed: Int
        package var latestMilliseconds: Int64
        /// When missing notifications are requested again.
        package var nextAt: Timestamp?
        /// When Apple answered last.
        package var respondedAt: Timestamp?
        /// Why Apple cannot be asked. Nil if Apple can be asked.
        package var trouble: String?
        /// The number of purchases that are due for a check now.
        package var due: Int
        /// The purchases that are checked next.
        package var next: [Check]

        package init(
            notifications: Int, missed: Int, latestMilliseconds: Int64 = 0,
            nextAt: Timestamp? = nil, respondedAt: Timestamp? = nil, trouble: String? = nil,
            due: Int = 0, next: [Check] = []
        ) {
            self.notifications = notifications
            self.missed = missed
            self.latestMilliseconds = latestMilliseconds
            self.nextAt = nextAt
            self.respondedAt = respondedAt
            self.trouble = trouble
            self.due = due
            self.next = next
        }
    }

    /// When a purchase is checked with Apple.
    package struct Check: Sendable {
        /// The first transaction of the purchase.
        package var transaction: String
        package var dueAt: Timestamp
        package var askedAt: Timestamp?
        /// The number of checks after `askedAt` that Apple did not answer.
        package var failures: Int

        package init(
            transaction: String, dueAt: Timestamp, askedAt: Timestamp? = nil, failures: Int = 0
        ) {
            self.transaction = transaction
            self.dueAt = dueAt
            self.askedAt = askedAt
            self.failures = failures
        }
    }

    package init(_ content: Content, waiting: Int = 0) {
        self.content = content
        self.waiting = waiting
    }

    package func html(in frame: Frame) -> String {
        let test: Markup = """
            <form method="post" action="\(frame.link(.notificationTest))">\(frame.csrf)\
            <button class="btn" type="submit">Ask Apple for a test</button></form>
            """
        return Layout(
            title: "Notifications", section: .notifications, heading: "Notifications",
            lede: "What Apple sent, what was done with it, and where it was forwarded.",
            actions: frame.viewer.mayConfigure && !frame.isSimulated ? test : "",
            isLive: isLive,
            content: "\(tabs(in: frame))<div class=\"stack\">\(panels(in: frame))</div>"
        ).html(in: frame)
    }

    /// Whether this is the page with the newest notifications that came in.
    private var isLive: Bool {
        if case .cameIn(let values) = content { values.isFirstPage } else { false }
    }

    private func tabs(in frame: Frame) -> Markup {
        let current =
            switch content {
            case .cameIn: DashboardPath.notifications
            case .forwarded: DashboardPath.forwarded
            case .asked: DashboardPath.asked
            }
        let wait: Markup =
            waiting > 0 ? " <span class=\"at-risk\">\(Figures.count(waiting)) wait</span>" : ""
        let entries: [(DashboardPath, Markup)] = [
            (.notifications, "Received"), (.forwarded, "Forwarded\(wait)"), (.asked, "Asked"),
        ]
        let links = entries.map { path, name -> Markup in
            let mark: Markup = path == current ? " aria-current=\"true\"" : ""
            return "<a href=\"\(frame.link(path))\"\(mark)>\(name)</a>"
        }
        return "<nav class=\"tabs\" aria-label=\"Notifications\">\(links.joined())</nav>"
    }

    private func panels(in frame: Frame) -> Markup {
        switch content {
        case .cameIn(let values): cameIn(values, in: frame)
        case .forwarded(let values): forwarded(values, in: frame)
        case .asked(let values): asked(values, in: frame)
        }
    }
}
