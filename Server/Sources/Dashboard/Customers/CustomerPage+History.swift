import PerennialContract

// The history, newest first: the events, or everything that is known, line by line.

extension CustomerPage {
    func historyLinks(in frame: Frame) -> Markup {
        let events: Markup = """
            <a href="\(frame.link(.events.with("customer_id", id)))">Events of \(name)</a>
            """
        let whole = DashboardPath.customer(id).with("history", "all")
        let (link, words): (DashboardPath, Markup) =
            history == nil
            ? (whole, "All \(Figures.count(linesCount, "line"))") : (.customer(id), "In short")
        guard history != nil || linesCount > 0 else { return events }
        return "\(events) · <a href=\"\(frame.link(link))#history\">\(words)</a>"
    }

    func historyLines(in frame: Frame) -> Markup {
        let lines =
            history.map { $0.items.reversed().map { Self.line($0, in: frame) } }
            ?? happened.map { Self.line($0, in: frame) }
        guard !lines.isEmpty else { return "<p class=\"soft\">Nothing has happened yet.</p>" }
        return "<ul class=\"feed hist\">\(lines.joined())</ul>"
    }

    private static func line(_ event: Event, in frame: Frame) -> Markup {
        let words = EventWords(event: event)
        let state = words.isOfOthers ? nil : event.after?.state
        let chip = state.map { Chip($0).markup } ?? ""
        return """
            <li>\(frame.element(event.at))<div><b>\(.bdi(words.headline))</b> \
            <span class="soft">\(words.detail(in: frame))</span></div>\
            <div class="num">\(words.money)</div>\
            <div class="sub">\(chip) <code>\(.bdi(event.type.rawValue))</code> \
            \(words.cause(in: frame))</div></li>
            """
    }

    private static func line(_ line: History.Line, in frame: Frame) -> Markup {
        let kind = line.kind.replacing("_", with: " ")
        let reference: Markup = line.reference.map { " <code>\(.bdi($0))</code>" } ?? ""
        let document: Markup =
            line.documentID.map { id in
                let transaction = line.purchaseID?.split(separator: ":").last.map(String.init)
                let link = DocumentLink(id: id, transaction: transaction, knownAt: line.at)
                return ", \(link.markup(in: frame))"
            } ?? ""
        return """
            <li>\(frame.element(line.at))<div>\(.bdi(line.sentence))</div><div \
            class="num"></div>\
            <div class="sub">\(.bdi(kind))\(reference)\(document)</div></li>
            """
    }

    func earlier(in frame: Frame) -> Markup {
        guard let cursor = history?.nextCursor else { return "" }
        let path = DashboardPath.customer(id).with("history", cursor)
        return "<a class=\"btn s\" href=\"\(frame.link(path))#history\">Earlier lines</a>"
    }
}
