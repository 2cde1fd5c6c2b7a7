import PerennialContract

/// A part of the phone's page that can be replaced by its id.
package struct PhonePiece: Hashable, Sendable, Codable {
    package var id: String
    package var html: String

    package init(id: String, html: String) {
        self.id = id
        self.html = html
    }

    /// All pieces of a state, in the order of the page.
    package static func all(of state: PhoneState) -> [PhonePiece] {
        let hint = PhoneTour(state).hint
        return Name.allCases.map { PhonePiece(id: $0.rawValue, html: $0.markup(state, hint).html) }
    }

    enum Name: String, CaseIterable {
        case now, pass, due, trouble
        case tour = "try"
        case screen, line, word, picture, books, json, others
        case wire

        func markup(_ state: PhoneState, _ hint: PhoneAct?) -> Markup {
            switch self {
            case .now: Self.now(state)
            case .pass: Self.units(hint)
            case .due: Self.due(state, hint)
            case .trouble: Self.trouble(state)
            case .tour: Self.tour(state)
            case .screen: PhoneScreen(state, hint: hint).markup
            case .line: Self.line(state)
            case .word: Self.word(state)
            case .picture: PhonePicture(state).markup
            case .books: PhoneBooks(state).markup
            case .json: "<pre id=\"json\">\(state.json)</pre>"
            case .others: Self.others(state, hint)
            case .wire: Self.wire(state)
            }
        }
    }
}

extension PhonePiece.Name {
    private static func now(_ state: PhoneState) -> Markup {
        let civil = CivilTime(state.now)
        return "<span class=\"t\" id=\"now\">\(civil.date), \(civil.clock) UTC</span>"
    }

    /// The buttons that let time pass.
    private static func units(_ hint: PhoneAct?) -> Markup {
        let units: [PhonePeriod.Unit] = [.day, .week, .month, .year]
        let buttons = units.map { unit -> Markup in
            let act = PhoneAct.pass(PhonePeriod(1, unit))
            let button = PhoneButton(act: act, isHinted: act == hint)
            return "<button \(button.attributes(""))>1 \(unit.rawValue)</button>"
        }
        return "<div class=\"seg\" id=\"pass\">\(buttons.joined())</div>"
    }

    private static func due(_ state: PhoneState, _ hint: PhoneAct?) -> Markup {
        guard let due = PhoneDue(state) else {
            return """
                <div class="due" id="due"><span>Nothing is due. Buy something on the phone.\
                </span></div>
                """
        }
        let button = PhoneButton(act: .goToDue, isHinted: hint == .goToDue)
        return """
            <div class="due" id="due"><span>Next: <b>\(CivilTime(due.at).date)</b>, \
            \(.bdi(due.what))</span><button \(button.attributes("btn s"))>Go there</button></div>
            """
    }

    private static func trouble(_ state: PhoneState) -> Markup {
        guard let trouble = state.device.trouble else { return "<div id=\"trouble\" hidden></div>" }
        return """
            <div id="trouble"><div class="say warn" role="alert">\(Icon.warning.markup)<div>\
            \(.bdi(trouble))</div></div></div>
            """
    }

    private static func tour(_ state: PhoneState) -> Markup {
        let tour = PhoneTour(state)
        let steps = PhoneTour.Step.allCases.map { step -> Markup in
            let isDone = tour.done.contains(step)
            let look: Markup = isDone ? "done" : tour.next == step ? "nowon" : ""
            return """
                <li class="\(look)">\(step.rawValue)\
                \(isDone ? "<span class=\"vh\"> – done</span>" : "")</li>
                """
        }
        return """
            <div id="try"><ol class="try" aria-label="Try this">\(steps.joined())</ol>\
            \(tour.next == nil ? whatNext(state) : "")</div>
            """
    }

    /// Links for a reader who has finished the last step.
    private static func whatNext(_ state: PhoneState) -> Markup {
        func link(_ path: DashboardPath, _ words: Markup) -> Markup {
            "<a href=\"\(path.text)\">\(words)</a>"
        }
        let customer = Markup.id(state.customer.customerID)
        let page = link(.customer(state.customer.customerID), "\(customer)’s page")
        return """
            <p><b>All five are done.</b> See the results: \(page), \
            \(link(.chart("mrr"), "the charts")), \(link(.events, "the events")).</p>
            """
    }

    private static func line(_ state: PhoneState) -> Markup {
        let answer = PhoneAnswer(state)
        return """
            <span id="line" data-look="\(answer.look)" \
            data-customer="\(state.customer.customerID)">\(answer.line)</span>
            """
    }

    private static func word(_ state: PhoneState) -> Markup {
        let answer = PhoneAnswer(state)
        let other: Markup =
            answer.contradiction.map { "<b class=\"down\">\($0)</b>" }
            ?? "as her app is answered now; Apple’s books agree"
        return """
            <p class="row small muted" id="word">\(answer.chip.markup) \(other)</p>
            """
    }

    /// The actions of other people, who have their own phones.
    private static func others(_ state: PhoneState, _ hint: PhoneAct?) -> Markup {
        var parts: [Markup] = []
        func add(_ act: PhoneAct, _ label: Markup) {
            let button = PhoneButton(act: act, isHinted: act == hint)
            parts.append("<button \(button.attributes("btn s"))><span>\(label)</span></button>")
        }
        if let pending = state.pending {
            let name = Markup.bdi(
                state.product(pending.productID).map { PhoneScreen.name(of: $0, in: state) }
                    ?? pending.productID)
            add(.approve, "A parent allows \(name)")
            add(.decline, "A parent says no")
        }
        if state.device.invitation != nil, let friend = state.group?.nextFriend {
            add(.join, "Let \(.id(friend)) join with the code")
        }
        for member in state.group?.members ?? [] {
            add(.leave(member.claimID), "Let \(.id(member.name)) leave the group")
        }
        if !state.books.isEmpty { add(.restoreAsOther, "Let ben, another customer, restore it") }
        let open = state.relative?.entitlements.filter(\.value.active).keys.sorted() ?? []
        let family: Markup? = state.relative.map { _ in
            open.isEmpty
                ? "In her family, ben has no access to her purchases."
                : "In her family, ben has access to <b>\(.bdi(open.joined(separator: ", ")))</b>."
        }
        return """
            <div class="row" id="others">\(parts.isEmpty ? "" : Self.othersName)\(parts.joined())\
            \(family.map { "<span class=\"small muted\">\($0)</span>" })</div>
            """
    }

    /// A long path may be broken before its last word.
    private static func breakable(_ path: String) -> Markup {
        guard path.count > 24, let slash = path.lastIndex(of: "/") else { return "\(path)" }
        return "\(String(path[...slash]))<wbr>\(String(path[path.index(after: slash)...]))"
    }

    private static let othersName: Markup = "<span class=\"small muted\">Others:</span>"

    private static func wire(_ state: PhoneState) -> Markup {
        let entries = state.wire.prefix(WireEntry.countMax).map(entry)
        let nothing: Markup = """
            <li class="empty"><p>No messages yet. What Apple sends, and what the server answers, \
            appears here.</p></li>
            """
        return """
            <ol class="wire" id="wire" tabindex="0" \
            aria-label="What Apple sent and what the server answered">\
            \(entries.isEmpty ? nothing : entries.joined())</ol>
            """
    }

    private static func entry(_ entry: WireEntry) -> Markup {
        let lines = entry.lines.map { line -> Markup in
            let content: Markup =
                switch line.content {
                case .code(let code): "<code>\(breakable(code))</code>"
                case .sentence(let text): .bdi(text)
                case .event(let type): "<b>\(type)</b>"
                }
            let detail: Markup? = line.detail.map {
                "<br><span class=\"muted\">\(.bdi($0))</span>"
            }
            return """
                <span class="w">\(.bdi(line.who))</span><span>\(content)\(detail)</span>\
                <span class="r">\(.bdi(line.result))</span>
                """
        }
        let civil = CivilTime(entry.at)
        return """
            <li data-id="\(entry.id)"><span class="when">\(civil.date), \(civil.clock) UTC</span>\
            \(lines.joined())</li>
            """
    }
}
