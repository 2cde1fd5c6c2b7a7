import PerennialContract

extension NotificationsPage {
    // MARK: - Came in

    func cameIn(_ values: CameIn, in frame: Frame) -> Markup {
        guard !values.items.isEmpty else {
            let empty = Empty(
                title: "Nothing came in yet",
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
            title: "By the hour", side: "\(values.hours.count) hours",
            content: "\(strip.markup)<p class=\"muted small\">\(strip.sentence)</p>"
        ).markup
        let table = Table(
            name: "Notifications that came in",
            columns: [
                .init("At, UTC"), .init("Type"), .init("Became"), .init("Customer"),
                .init("Sent on"), .init("How"),
            ], rows: values.items.map { Self.row($0, in: frame) }, bodyID: "incoming")
        return """
            \(values.day.map { stats($0) } ?? "")\(values.hours.isEmpty ? "" : hours)\
            \(Panel(title: "Came in", content: table.markup, classes: "flush").markup)\
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
        return """
            <div class="stats" id="day">\
            \(tile("Last 24 hours", "\(Figures.count(day.recorded))", "kept, each answered 200"))\
            \(tile("Came twice", "\(Figures.count(day.repeated))", "counted once"))\
            \(tile("Refused", "\(Figures.count(day.refused))", "not Apple’s, or for another app"))\
            \(tile(
                "Apple waited", "\(Figures.count(day.milliseconds)) ms",
                "99 of 100 under \(Figures.count(day.slowMilliseconds)) ms"))</div>
            """
    }

    /// One row. `/live?page=notifications` sends it with the id `incoming`.
    package static func row(_ item: Incoming, in frame: Frame) -> Markup {
        let (civil, today) = (CivilTime(item.at), CivilTime(frame.now))
        let time =
            civil.isSameDay(as: today) ? civil.clockWithSeconds : frame.shortTime(item.at)
        let subtype: Markup =
            item.subtype.map {
                "<br><span class=\"muted small\">\(.bdi($0))</span>"
            } ?? ""
        let customer = item.customerID == nil ? "" : frame.customer(item.customerID)
        return Table.row(
            .init("\(time)"),
            [
                .init("<code>\(.bdi(item.type))</code>\(subtype)"),
                .init(chip(item.outcome).markup, "r"), .init(customer, "full"),
                .init(sentOn(item)), .init(.bdi(item.remark), "r"),
            ])
    }

    private static func chip(_ outcome: DocumentOutcome.Word) -> Chip {
        switch outcome {
        case .kept: Chip("kept", .open)
        case .repeat: Chip("repeated", .shut)
        case .refused: Chip("refused", .bad)
        case .later: Chip("asked again", .warn)
        default: Chip(outcome.rawValue, .neutral)
        }
    }

    private static func sentOn(_ item: Incoming) -> Markup {
        let all = item.accepted + item.waiting
        guard all > 0 else { return "" }
        return item.waiting == 0
            ? "accepted by \(item.accepted) of \(all)"
            : "\(item.accepted) accepted, \(item.waiting) \(item.waiting == 1 ? "waits" : "wait")"
    }

    // MARK: - Sent on

    func sentOn(_ values: SentOn, in frame: Frame) -> Markup {
        guard !values.addresses.isEmpty || !values.forwards.items.isEmpty else {
            let empty = Empty(
                title: "Nothing is sent on",
                text: """
                    To whom Apple’s notifications go on, byte for byte, stands in \
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
            name: "Addresses that notifications are sent on to",
            columns: [
                .init("Address"), .init("What of"), .init("State"), .number("Waiting"),
                .init("Oldest"), .init("Last"),
            ], rows: rows)
        return Panel(
            title: "Sent on", side: "The body as it came, byte for byte; 36 attempts in six days",
            content: table.markup, classes: "flush"
        ).markup
    }

    private func forwards(_ list: ForwardList, in frame: Frame) -> Markup {
        guard !list.items.isEmpty else { return "" }
        let table = Table(
            name: "Notifications that were sent on, or wait",
            columns: [
                .init("Came"), .init("Document"), .init("To"), .init("Attempts"), .init("State"),
                .init("Do"),
            ], rows: list.items.map { row($0, in: frame) })
        return Panel(
            title: "One by one", side: "Newest first; kept for thirty days",
            content: table.markup, classes: "flush"
        ).markup + older(list.nextCursor, .sentOn, in: frame)
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
                .init(DocumentLink(id: forward.documentID).markup(in: frame)),
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
        guard frame.viewer.mayConfigure, [.givenUp, .leftOut].contains(forward.state) else {
            return ""
        }
        return """
            <form method="post" action="\(frame.link(.retry(forward.documentID)))">\(frame.csrf)\
            <button class="btn s" type="submit">Send again</button></form>
            """
    }

    // MARK: - Asked for

    func asked(_ values: Asked, in frame: Frame) -> Markup {
        if let trouble = values.trouble {
            return Notice(
                .warning, "Apple cannot be asked.", trouble, link: .init("Health", .checks)
            )
            .markup(in: frame)
        }
        let next: Markup = values.nextAt.map { "Next at \(frame.time($0))" } ?? ""
        let late = Duration.short(milliseconds: values.latestMilliseconds)
        let missed: Markup =
            values.missed == 0
            ? "Every one had reached us."
            : """
            <b>\(Figures.count(values.missed))</b> had not reached us, and \
            \(values.missed == 1 ? "was" : "were") read that way, \(late) late at most.
            """
        return Panel(
            title: "Asked for", side: next,
            content: """
                <p>Once an hour Apple is asked for what did not reach us. In the last week there \
                were \
                \(Figures.count(values.notifications)). \(missed)</p>
                """
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
