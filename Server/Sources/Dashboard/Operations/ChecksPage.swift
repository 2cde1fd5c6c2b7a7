import PerennialContract

/// The page `/checks`: what needs attention?
package struct ChecksPage: Sendable {
    package var checks: [Check]
    package var requests: Requests?
    /// The latest actions, the newest first. Only operators who may configure see them.
    package var log: [Entry]

    package struct Check: Sendable {
        package var name: String
        package var state: State
        /// The result, in one sentence.
        package var sentence: String
        package var link: Notice.Link?
        /// A command or a line of the configuration that fixes the problem.
        package var remedy: String?

        package enum State: Sendable { case well, needsYou, failed }

        package init(
            _ name: String, _ state: State, _ sentence: String, link: Notice.Link? = nil,
            remedy: String? = nil
        ) {
            self.name = name
            self.state = state
            self.sentence = sentence
            self.link = link
            self.remedy = remedy
        }
    }

    /// The state of the server.
    package struct Requests: Sendable {
        package var perMinute: Int
        package var minutes: [Strip.Hour]
        /// `Customer answered`: `0.9 ms; 99 of 100 under 4 ms`
        package var facts: [(name: String, text: String)]

        package init(
            perMinute: Int, minutes: [Strip.Hour], facts: [(name: String, text: String)]
        ) {
            self.perMinute = perMinute
            self.minutes = minutes
            self.facts = facts
        }
    }

    package struct Entry: Sendable {
        package var at: Timestamp
        package var actor: String
        package var deed: String

        package init(at: Timestamp, actor: String, deed: String) {
            self.at = at
            self.actor = actor
            self.deed = deed
        }
    }

    package init(checks: [Check], requests: Requests? = nil, log: [Entry] = []) {
        self.checks = checks
        self.requests = requests
        self.log = log
    }

    package func html(in frame: Frame) -> String {
        Layout(
            title: "Health", section: .checks, heading: "Health", lede: lede,
            actions: "<a class=\"btn\" href=\"\(Paths.metrics)\">\(Paths.metrics)</a>",
            isLive: true, content: body(in: frame)
        ).html(in: frame)
    }

    private func body(in frame: Frame) -> Markup {
        let list: Markup =
            checks.isEmpty
            ? Bones.markup("The checks are being made")
            : "<ul class=\"feed checks\">\(checks.map { Self.line($0, in: frame) }.joined())</ul>"
        return """
            <div class="stack">
            <section class="panel" id="checks"><header><h2>Checks</h2><p>\(frame.time(frame.now))\
            \(frame.isLive ? ", again every second" : "")</p></header>\(list)</section>
            <div class="cols c2">\(requests.map(Self.panel))\
            \(frame.viewer.mayConfigure ? logPanel(in: frame) : "")</div>
            </div>
            """
    }

    private var lede: Markup {
        guard !checks.isEmpty else { return "The checks are being made." }
        let bad = checks.count { $0.state != .well }
        if bad == 0 { return "All is well: \(Figures.count(checks.count, "check"))." }
        return """
            \(checks.count - bad) of \(checks.count) are well. \
            \(bad) \(bad == 1 ? "needs" : "need") attention.
            """
    }

    private static func line(_ check: Check, in frame: Frame) -> Markup {
        let (look, icon, word): (Markup, Icon, Markup) =
            switch check.state {
            case .well: ("up", .check, "well")
            case .needsYou: ("at-risk", .warning, "needs attention")
            case .failed: ("down", .warning, "failed")
            }
        let link: Markup =
            check.link.map {
                " <a href=\"\(frame.link($0.path))\">\(.bdi($0.label))</a>"
            } ?? ""
        let remedy: Markup =
            check.remedy.map { remedy in
                """
                <br><code>\(.bdi(remedy))</code> \
                <button class="link" type="button" data-copy="\(.value(remedy))">Copy</button>
                """
            } ?? ""
        return """
            <li><div class="\(look)">\(icon.markup)<span class="vh">\(word)</span></div>\
            <div><b>\(.bdi(check.name))</b> <span \
            class="soft">\(.bdi(check.sentence))\(link)</span>\
            \(remedy)</div></li>
            """
    }

    private static func panel(_ requests: Requests) -> Markup {
        let facts = requests.facts.map {
            Markup("<dt>\(.bdi($0.name))</dt><dd>\(.bdi($0.text))</dd>")
        }
        return Panel(
            title: "Requests",
            content: """
                <div class="big">\(Figures.count(requests.perMinute)) <span>a minute</span></div>\
                \(Strip(requests.minutes).markup)<dl class="facts">\(facts.joined())</dl>
                """
        ).markup
    }

    private func logPanel(in frame: Frame) -> Markup {
        guard !log.isEmpty else { return "" }
        let lines = log.map { entry -> Markup in
            """
            <li><div><b>\(.bdi(entry.actor))</b> <span \
            class="soft">\(.bdi(entry.deed))</span></div>\
            <div class="muted">\(frame.shortTime(entry.at))</div></li>
            """
        }
        return Panel(
            title: "Who did what", content: "<ul class=\"feed two\">\(lines.joined())</ul>"
        ).markup
    }
}
