import PerennialContract

/// The page `/events`: all changes, in order.
package struct EventsPage: Sendable {
    package var filter: Filter
    /// The events, the newest first.
    package var events: [Event]
    /// The figures of the present day. Nil while they are being counted.
    package var day: Day?
    /// The cursor of the page with older events.
    package var olderCursor: String?
    /// Whether this is the page with the newest events, to which new ones are added.
    package var isFirstPage: Bool
    /// Whether the events are still being read.
    package var isWaiting: Bool

    package struct Filter: Hashable, Sendable {
        package var customerID: String
        package var what: What
        /// The first and the last day of the events, as `2026-11-24`. Empty if not limited.
        package var from: String
        package var to: String

        package init(
            customerID: String = "", what: What = .everything, from: String = "", to: String = ""
        ) {
            self.customerID = customerID
            self.what = what
            self.from = from
            self.to = to
        }

        var isEmpty: Bool { self == Filter() }
    }

    /// Groups of types. The raw value is the value of `what` in the query.
    package enum What: String, CaseIterable, Sendable {
        case everything = ""
        case payments, refunds, opened, shut, failed, ownership, wallets

        var label: String {
            switch self {
            case .everything: "Everything"
            case .payments: "Payments"
            case .refunds: "Refunds"
            case .opened: "Access opened"
            case .shut: "Access closed"
            case .failed: "Failed payments"
            case .ownership: "Moved, shared, granted"
            case .wallets: "Wallets"
            }
        }
    }

    /// The numbers of today.
    package struct Day: Hashable, Sendable {
        package var events: Int
        /// The money that was paid, and the money that was refunded, in each currency.
        package var came: [Money]
        package var wentBack: [Money]
        package var refunds: Int
        /// The number of events that were reported more than an hour after they happened.
        package var late: Int

        package init(events: Int, came: [Money], wentBack: [Money], refunds: Int, late: Int) {
            self.events = events
            self.came = came
            self.wentBack = wentBack
            self.refunds = refunds
            self.late = late
        }
    }

    package init(
        filter: Filter = .init(), events: [Event], day: Day? = nil, olderCursor: String? = nil,
        isFirstPage: Bool = true, isWaiting: Bool = false
    ) {
        self.filter = filter
        self.events = events
        self.day = day
        self.olderCursor = olderCursor
        self.isFirstPage = isFirstPage
        self.isWaiting = isWaiting
    }

    /// An event that was reported later than this is marked.
    static let lateMilliseconds: Int64 = 3_600_000

    package func html(in frame: Frame) -> String {
        Layout(
            title: "Events", section: .events, heading: "Events",
            lede: """
                Everything that changed, in one order, without gaps. Written in the transaction \
                that caused it, and never rewritten.
                """,
            actions: isLive
                ? """
                <button class="btn" type="button" data-more id="more" hidden>0 new</button>\
                <button class="btn" type="button" data-pause>Pause</button>
                """ : "", isLive: isLive,
            content: body(in: frame)
        ).html(in: frame)
    }

    private func body(in frame: Frame) -> Markup {
        """
        <div class="stack">
        <form class="panel" method="get" action="\(frame.link(.events))" data-auto>\
        \(frame.environmentField)<div class="fields"><div><label for="c">Customer</label>\
        <input id="c" name="customer_id" value="\(.value(filter.customerID))" \
        placeholder="any"></div>\(whatChoice)<div><label for="fr">From</label>\
        <input id="fr" name="from" type="date" value="\(.value(filter.from))"></div><div>\
        <label for="to">To</label>\
        <input id="to" name="to" type="date" value="\(.value(filter.to))"></div><div>\
        <button class="btn go" type="submit">Show</button></div></div></form>
        \(day.map { stats($0, in: frame) })
        <div aria-live="off"><section class="panel flush">\(content(in: frame))</section></div>
        <div class="row end"><span class="muted small">\(remark)</span>\(older(in: frame))</div>
        </div>
        """
    }

    private var whatChoice: Markup {
        Choice(
            id: "ty", name: "what", label: "What",
            options: What.allCases.map { ($0.rawValue, $0.label) }, selected: filter.what.rawValue
        ).markup
    }

    private var remark: Markup {
        isLive && !events.isEmpty ? "New events come in on top while this page is open." : ""
    }

    private var isLive: Bool { filter.isEmpty && isFirstPage }

    private func stats(_ day: Day, in frame: Frame) -> Markup {
        func tile(_ name: Markup, _ value: Markup, _ remark: Markup) -> Markup {
            """
            <div class="stat"><div class="k">\(name)</div><div class="v">\(value)</div>\
            <div class="d">\(remark)</div></div>
            """
        }
        let refunds: Markup = "\(Figures.count(day.refunds, "refund"))"
        let money: Markup = """
            \(tile("Payments", Self.sum(day.came), Self.currencies(day.came)))\
            \(tile("Refunds", Self.sum(day.wentBack), refunds))
            """
        return """
            <div class="stats" id="day">\
            \(tile("Today", "\(Figures.count(day.events))", "events so far"))\
            \(frame.viewer.seesMoney ? money : "")\
            \(tile("Reported late", "\(Figures.count(day.late))", "more than an hour"))</div>
            """
    }

    /// The sum in the first currency only, because a tile has no room for more. The remark has the
    /// other currencies.
    private static func sum(_ money: [Money]) -> Markup {
        money.isEmpty ? "–" : CustomersPage.sum([money[0]])
    }

    private static func currencies(_ money: [Money]) -> Markup {
        money.count > 1
            ? "and \(CustomersPage.sum(Array(money.dropFirst())))" : "before Apple’s part"
    }

    // MARK: - Table

    private func content(in frame: Frame) -> Markup {
        if events.isEmpty, !isWaiting { return empty(in: frame) }
        let columns: [Table.Column] =
            [
                .init("Number"), .init("At, UTC"), .init("Customer"), .init("What"),
                .init("Before → after"),
            ] + (frame.viewer.seesMoney ? [.number("Money")] : []) + [.init("Because of")]
        return Table(
            name: "Events, the newest first", columns: columns,
            rows: isWaiting
                ? [Bones.rows(6, columns: columns.count)] : events.map { Self.row($0, in: frame) },
            bodyID: "events"
        ).markup
    }

    private func empty(in frame: Frame) -> Markup {
        if olderCursor != nil {
            return Empty(
                title: "Nothing on this page",
                text: """
                    None of the latest events matches the filter. Look further back.
                    """
            ).markup
        }
        guard isFirstPage else {
            return Empty(
                title: "Nothing older", text: "No older event matches the filter.",
                actions: "<a class=\"btn\" href=\"\(frame.link(.events))\">All events</a>"
            ).markup
        }
        guard filter.isEmpty else {
            return Empty(
                title: "No such event", text: "No event in the log matches the filter.",
                actions: "<a class=\"btn\" href=\"\(frame.link(.events))\">All events</a>"
            ).markup
        }
        return Empty(
            title: "No event yet",
            text: """
                The first event comes with the first purchase that your app posts, or with \
                Apple’s first notification.
                """,
            actions: frame.isSimulated
                ? "<a class=\"btn go\" href=\"\(frame.link(.phone))\">Open the phone</a>" : ""
        ).markup
    }

    /// The row of an event, with an id by which the page's stream replaces the row.
    package static func row(_ event: Event, in frame: Frame) -> Markup {
        let words = EventWords(event: event)
        let money = words.listedMoney(in: frame)
        let amount = Table.Cell(money, money.isEmpty ? "num" : "num r")
        return Table.row(
            id: "event-\(event.sequence)",
            .init("<span class=\"muted\">\(Figures.count(event.sequence))</span>", "alt"),
            [
                .init(time(of: event, in: frame)), .init(frame.customer(event.customerID)),
                .init(
                    """
                    <code>\(.bdi(event.type.rawValue))</code><br>\
                    <span class="muted small">\(words.detail(in: frame))</span>
                    """, "full"),
                .init(words.change),
            ] + (frame.viewer.seesMoney ? [amount] : [])
                + [.init(words.cause(in: frame), "alt")])
    }

    private static func time(of event: Event, in frame: Frame) -> Markup {
        let (civil, today) = (CivilTime(event.at), CivilTime(frame.now))
        let text = civil.isSameDay(as: today) ? civil.clockWithSeconds : frame.shortTime(event.at)
        let delay = event.knownAt.milliseconds - event.at.milliseconds
        let late: Markup =
            delay <= lateMilliseconds
            ? ""
            : """
            <br><span class="small at-risk">reported \(Duration.short(milliseconds: delay)) \
            later</span>
            """
        return "<span class=\"nowrap\">\(text)</span>\(late)"
    }

    private func older(in frame: Frame) -> Markup {
        guard let olderCursor else { return "" }
        let path = DashboardPath.events.with("customer_id", filter.customerID)
            .with("what", filter.what.rawValue).with("from", filter.from).with("to", filter.to)
            .with("cursor", olderCursor)
        let label: Markup = events.isEmpty ? "Look further back" : "Older"
        return "<a class=\"btn s\" href=\"\(frame.link(path))\">\(label)</a>"
    }
}
