import PerennialContract

/// The pages `/notifications`, `…/sent-on` and `…/asked`: did Apple's news arrive, and go on?
package struct NotificationsPage: Sendable {
    package var content: Content
    /// How many wait to be sent on.
    package var waiting: Int

    package enum Content: Sendable {
        case cameIn(CameIn)
        case sentOn(SentOn)
        case asked(Asked)
    }

    package struct CameIn: Sendable {
        package var day: Day?
        /// The last 24 hours, oldest first. What was refused is bad.
        package var hours: [Strip.Hour]
        /// Newest first.
        package var items: [Incoming]
        package var olderCursor: String?

        package init(
            day: Day? = nil, hours: [Strip.Hour] = [], items: [Incoming], olderCursor: String? = nil
        ) {
            self.day = day
            self.hours = hours
            self.items = items
            self.olderCursor = olderCursor
        }
    }

    /// The numbers of the last 24 hours.
    package struct Day: Hashable, Sendable {
        package var recorded: Int
        package var repeated: Int
        package var refused: Int
        /// How long Apple waited: the middle, and 99 of 100.
        package var milliseconds: Int
        package var slowMilliseconds: Int

        package init(
            recorded: Int, repeated: Int, refused: Int, milliseconds: Int, slowMilliseconds: Int
        ) {
            self.recorded = recorded
            self.repeated = repeated
            self.refused = refused
            self.milliseconds = milliseconds
            self.slowMilliseconds = slowMilliseconds
        }
    }

    /// One notification that came in.
    package struct Incoming: Sendable {
        package var at: Timestamp
        /// Apple's words.
        package var type: String
        package var subtype: String?
        package var outcome: DocumentOutcome.Word
        package var customerID: String?
        package var documentID: String?
        /// To how many addresses it was sent on, and how many of them still wait.
        package var accepted: Int
        package var waiting: Int
        /// How long it took, or why it was refused.
        package var remark: String

        package init(
            at: Timestamp, type: String, subtype: String? = nil, outcome: DocumentOutcome.Word,
            customerID: String? = nil, documentID: String? = nil, accepted: Int = 0,
            waiting: Int = 0, remark: String = ""
        ) {
            self.at = at
            self.type = type
            self.subtype = subtype
            self.outcome = outcome
            self.customerID = customerID
            self.documentID = documentID
            self.accepted = accepted
            self.waiting = waiting
            self.remark = remark
        }
    }

    package struct SentOn: Sendable {
        package var addresses: [Address]
        package var forwards: ForwardList

        package init(addresses: [Address], forwards: ForwardList) {
            self.addresses = addresses
            self.forwards = forwards
        }
    }

    /// An address that notifications are sent on to.
    package struct Address: Sendable {
        package var url: String
        package var environments: [StoreEnvironment]
        /// Nil if it accepts. Otherwise what it answers: `answers 500`.
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

    /// Notifications that Apple was asked for, because they had not arrived.
    package struct Asked: Sendable {
        /// In the last week: how many there were, and how many of them had not arrived.
        package var notifications: Int
        package var missed: Int
        package var latestMilliseconds: Int64
        package var nextAt: Timestamp?
        /// Why Apple cannot be asked. Nil if it can.
        package var trouble: String?

        package init(
            notifications: Int, missed: Int, latestMilliseconds: Int64 = 0,
            nextAt: Timestamp? = nil, trouble: String? = nil
        ) {
            self.notifications = notifications
            self.missed = missed
            self.latestMilliseconds = latestMilliseconds
            self.nextAt = nextAt
            self.trouble = trouble
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
        let fields = Fields([
            "tabs": .html(tabs(in: frame)),
            "panels": .html(panels(in: frame)),
        ])
        return Layout(
            title: "Notifications", section: .notifications, heading: "Notifications",
            lede: "What Apple told us, what became of it, and to whom it was sent on.",
            actions: frame.viewer.mayConfigure && !frame.isSimulated ? test : "",
            live: "notifications", content: Template.notifications.markup(fields)
        ).html(in: frame)
    }

    private func tabs(in frame: Frame) -> Markup {
        let current =
            switch content {
            case .cameIn: DashboardPath.notifications
            case .sentOn: DashboardPath.sentOn
            case .asked: DashboardPath.asked
            }
        let wait: Markup =
            waiting > 0 ? " <span class=\"at-risk\">\(Figures.count(waiting)) wait</span>" : ""
        let entries: [(DashboardPath, Markup)] = [
            (.notifications, "Came in"), (.sentOn, "Sent on\(wait)"), (.asked, "Asked for"),
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
        case .sentOn(let values): sentOn(values, in: frame)
        case .asked(let values): asked(values, in: frame)
        }
    }
}
