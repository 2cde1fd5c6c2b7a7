import PerennialContract

extension NotificationsPage {
    // MARK: - Received

    func cameIn(_ values: CameIn, in frame: Frame) -> Markup {
        guard !values.items.isEmpty else {
            let empty = Empty(
                title: "No notifications yet",
                text: """
                    Enter this server’s address, with <code>\(Paths.notifications)</code> behind \
                    it, \
                    in App Store Connect, for production and for the sandbox. Then ask Apple for a \
                    test.
                    """,
                actions: frame.isSimulated
                    ? "<a class=\"btn go\" href=\"\(frame.link(.phone))\">Open the phone</a>" : "")
            return "<section class=\"panel\">\(empty.markup)</section>"
        }
        let strip = Strip(values.hours)
        let hours = Panel(
            title: "By the hour", side: "red: fetched from Apple later",
            content: "\(strip.markup)<p class=\"muted small\">\(strip.sentence)</p>"
        ).markup
        let table = Table(
            name: "Notifications that were received",
            columns: [
                .init("Came, UTC"), .init("Type"), .init("How"), .init("Customer"),
                .init("After"), .init("Forwarded"), .init("Document"),
            ], rows: values.items.map { Self.row($0, in: frame) }, bodyID: "incoming")
        return """
            \(values.day.map { stats($0) } ?? "")\(values.hours.isEmpty ? "" : hours)\
            \(Panel(
                title: "Received", side: "The latest signed first",
                content: table.markup, classes: "flush").markup)\
            \(older(values.olderCursor, .notifications, in: frame))
            """
    }

    private func stats(_ day: Day) -> Markup {
        func tile(_ name: Markup, _ value: Markup, _ remark: Markup) -> Markup {
            """
            <div class="stat"><div class="k">\(name)</div><div class="v">\(value)</div>\
            <div class="d">\(remark)</div></div>
            """
        }
        let (middle, slow) = (
            day.milliseconds < 1000 ? "1 s" : Duration.short(milliseconds: day.milliseconds),
            Duration.longer(milliseconds: day.slowMilliseconds)
        )
        return """
            <div class="stats" id="day">\
            \(tile(
                "Last 24 hours", "\(Figures.count(day.received))",
                "half within \(middle), 99 of 100 within \(slow)"))\
            \(tile("Fetched from Apple", "\(Figures.count(day.asked))", "in 24 hours"))\
            \(tile("Repeated", "\(Figures.count(day.repeated))", "since this server started"))\
            \(tile("Refused", "\(Figures.count(day.refused))", "since this server started"))</div>
            """
    }

    /// The row of a notification, with an id by which the page's stream replaces the row.
    package static func row(_ item: Incoming, in frame: Frame) -> Markup {
        let (civil, today) = (CivilTime(item.receivedAt), CivilTime(frame.now))
        let time =
            civil.isSameDay(as: today) ? civil.clockWithSeconds : frame.shortTime(item.receivedAt)
        let subtype: Markup =
            item.subtype.map {
                "<br><span class=\"muted small\">\(.bdi($0))</span>"
            } ?? ""
        let customer = item.customerID == nil ? "" : frame.customer(item.customerID)
        let delay = max(0, item.receivedAt.milliseconds - item.signedAt.milliseconds)
        let document = DocumentLink(
            id: item.documentID, transaction: item.transaction, knownAt: item.receivedAt)
        return Table.row(
            id: "document-\(item.documentID)",
            .init("\(time)"),
            [
                .init("<code>\(.bdi(item.type))</code>\(subtype)"),
                .init(chip(item.way).markup, "r"), .init(customer, "full"),
                .init("\(Duration.short(milliseconds: delay))"), .init(forwarded(item)),
                .init(document.markup(in: frame), "r"),
            ])
    }

    private static func chip(_ way: Incoming.Way) -> Chip {
        switch way {
        case .sent: Chip("sent", .open)
        case .asked: Chip("fetched", .warn)
        case .imported: Chip("imported", .plain)
        }
    }

    private static func forwarded(_ item: Incoming) -> Markup {
        let all = item.accepted + item.waiting
        guard all > 0 else { return "" }
        return item.waiting == 0
            ? "accepted by \(item.accepted) of \(all)"
            : "\(item.accepted) accepted, \(item.waiting) not"
    }

    // MARK: - Forwarded

    func forwarded(_ values: Forwarded, in frame: Frame) -> Markup {
        guard !values.addresses.isEmpty || !values.forwards.items.isEmpty else {
            let empty = Empty(
                title: "Nothing is forwarded",
                text: """
                    The addresses that receive Apple’s notifications, byte for byte, are set in \
                    <code>perennial.yaml</code>: <code>forward: [{url: https://…}]</code>.
                    """)
            return "<section class=\"panel\">\(empty.markup)</section>"
        }
        return addresses(values.addresses, in: frame) + forwards(values.forwards, in: frame)
    }

    private func addresses(_ addresses: [Address], in frame: Frame) -> Markup {
        guard !addresses.isEmpty else { return "" }
        let rows = addresses.map { address -> Markup in
            let chip =
                address.trouble.map { Chip($0, .bad) } ?? Chip("accepts", .open)
            let oldest: Markup = address.oldestWaiting.map { "\(frame.span(since: $0))" } ?? "–"
            let last: Markup =
                address.nextAttemptAt.map { "tried again at \(frame.time($0))" }
                ?? "\(Figures.count(address.accepted)) accepted"
            return Table.row(
                .init(.bdi(address.url)),
                [
                    .init(
                        address.environments.map { .bdi($0.rawValue) }.joined(by: ", "), "alt"),
                    .init(chip.markup, "r"),
                    .init(
                        "\(Figures.count(address.waiting))<span class=\"fold-only\"> wait</span>",
                        "num"), .init(oldest), .init(last, "full"),
                ])
        }
        let table = Table(
            name: "Addresses that notifications are forwarded to",
            columns: [
                .init("Address"), .init("Environments"), .init("State"), .number("Waiting"),
                .init("Oldest"), .init("Last"),
            ], rows: rows)
        return Panel(
            title: "Forwarded", side: "The unchanged body; 36 attempts in six days",
            content: table.markup, classes: "flush"
        ).markup
    }

    private func forwards(_ list: ForwardList, in frame: Frame) -> Markup {
        guard !list.items.isEmpty else { return "" }
        let table = Table(
            name: "Notifications that were forwarded, or wait",
            columns: [
                .init("Came"), .init("Document"), .init("To"), .init("Attempts"), .init("State"),
                .init("Do"),
            ], rows: list.items.map { row($0, in: frame) })
        return Panel(
            title: "Single notifications", side: "Newest first; kept for thirty days",
            content: table.markup, classes: "flush"
        ).markup + older(list.nextCursor, .forwarded, in: frame)
    }

    private func row(_ forward: Forward, in frame: Frame) -> Markup {
        let last: Markup =
            WebhookCard.response(forward.lastStatus, forward.lastTrouble).map {
                ", last: \($0)"
            } ?? ""
        let next: Markup = forward.nextAttemptAt.map { ", next \(frame.shortTime($0))" } ?? ""
        return Table.row(
            .init("\(frame.shortTime(forward.createdAt))"),
            [
                .init(
                    DocumentLink(id: forward.documentID, knownAt: forward.createdAt)
                        .markup(in: frame)),
                .init(.bdi(forward.url), "alt"),
                .init("\(Figures.count(forward.attempts, "attempt"))\(last)\(next)", "full"),
                .init(Self.chip(forward.state).markup), .init(retry(forward, in: frame), "r"),
            ])
    }

    private static func chip(_ state: Forward.State) -> Chip {
        switch state {
        case .accepted: Chip("accepted", .open)
        case .waiting: Chip("waiting", .warn)
        case .givenUp: Chip("given up", .bad)
        case .leftOut: Chip("left out", .badShut)
        default: Chip(state.rawValue, .neutral)
        }
    }

    private func retry(_ forward: Forward, in frame: Frame) -> Markup {
        // A forward in the state `leftOut` no longer has a body that could be sent.
        guard frame.viewer.mayConfigure, forward.state == .givenUp else { return "" }
        return """
            <form method="post" action="\(frame.link(.retry(forward.documentID)))">\(frame.csrf)\
            <input type="hidden" name="address" value="\(.value(forward.url))">\
            <button class="btn s" type="submit">Send again</button></form>
            """
    }

    // MARK: - Asked

    func asked(_ values: Asked, in frame: Frame) -> Markup {
        let trouble = values.trouble.map {
            Notice(.warning, "Apple cannot be asked.", $0, link: .init("Health", .checks))
                .markup(in: frame)
        }
        return "\(trouble)\(missed(values, in: frame))\(checks(values, in: frame))"
    }

    private func missed(_ values: Asked, in frame: Frame) -> Markup {
        let next: Markup = values.nextAt.map { "Next at \(frame.time($0))" } ?? ""
        let late = Duration.short(milliseconds: values.latestMilliseconds)
        let missed: Markup =
            values.missed == 0
            ? "All of them had arrived."
            : """
            <b>\(Figures.count(values.missed))</b> had not arrived, and \
            \(values.missed == 1 ? "was" : "were") fetched in this way, \(late) late at most.
            """
        let sent: Markup =
            values.notifications == 0
            ? "In the last week there was none."
            : """
            In the last week there \(values.notifications == 1 ? "was" : "were") \
            \(Figures.count(values.notifications)). \(missed)
            """
        return Panel(
            title: "Notifications", side: next,
            content: """
                <p>Once an hour, this server asks Apple for notifications that did not arrive. \
                \(sent)</p>
                """
        ).markup
    }

    private func checks(_ values: Asked, in frame: Frame) -> Markup {
        let answered: Markup =
            values.respondedAt.map { "Apple last answered at \(frame.time($0))." }
            ?? "Apple has not been asked yet."
        let sentence: Markup = """
            \(answered) \(Figures.count(values.due, "check")) \
            \(values.due == 1 ? "is" : "are") due.
            """
        guard !values.next.isEmpty else {
            return Panel(
                title: "Purchases",
                content: "<p>\(sentence) No purchase is known that could be checked.</p>"
            ).markup
        }
        let rows = values.next.map { check -> Markup in
            let failures: Markup =
                check.failures == 0
                ? ""
                : Chip("\(Figures.count(check.failures, "question")) failed", .warn).markup
            return Table.row(
                .init(DocumentLink.all(of: check.transaction, in: frame)),
                [
                    .init("<span class=\"fold-only\">due </span>\(frame.shortTime(check.dueAt))"),
                    .init(
                        """
                        <span class="fold-only">asked </span>\
                        \(check.askedAt.map { frame.shortTime($0) } ?? "not yet")
                        """),
                    .init(failures, "r"),
                ])
        }
        let table = Table(
            name: "Next checks of purchases",
            columns: [.init("Purchase"), .init("Due"), .init("Last asked"), .init("Trouble")],
            rows: rows)
        return Panel(
            title: "Next checks of purchases",
            content: "<p class=\"inset\">\(sentence)</p>"
                + table.markup, classes: "flush"
        ).markup
    }

    private func older(_ cursor: String?, _ path: DashboardPath, in frame: Frame) -> Markup {
        guard let cursor else { return "" }
        return """
            <div class="row end"><span></span><a class="btn s" \
            href="\(frame.link(path.with("cursor", cursor)))">Older</a></div>
            """
    }
}
