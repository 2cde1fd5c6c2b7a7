import PerennialContract

/// The page `/rehearsal`: may we leave RevenueCat, and what would change?
package struct RehearsalPage: Sendable {
    /// The last rehearsal.
    package var last: Summary
    /// The causes that were found.
    package var causes: [Cause]
    /// The first differences of the report, or those with ``cause``.
    package var differences: [Difference]
    /// The cause whose differences are shown. Nil if the differences of all causes are shown.
    package var cause: String?
    /// Earlier rehearsals, the latest first.
    package var earlier: [Summary]

    package struct Summary: Sendable {
        package var from: Timestamp
        package var to: Timestamp
        package var project: String
        package var customers: Int64
        package var entitlements: Int64
        package var differences: Int64
        package var unexplained: Int64
        package var isComplete: Bool
        /// The numbers of cases in which the switch would end access, and in which it would open
        /// access.
        package var loses: Int64
        package var gains: Int64

        package init(
            from: Timestamp, to: Timestamp, project: String, customers: Int64,
            entitlements: Int64, differences: Int64, unexplained: Int64, isComplete: Bool,
            loses: Int64, gains: Int64
        ) {
            (self.from, self.to) = (from, to)
            self.project = project
            (self.customers, self.entitlements) = (customers, entitlements)
            (self.differences, self.unexplained) = (differences, unexplained)
            self.isComplete = isComplete
            (self.loses, self.gains) = (loses, gains)
        }

        var verdict: String {
            "\(Figures.count(unexplained)) unexplained of "
                + (customers == 1 ? "1 customer" : "\(Figures.count(customers)) customers")
        }
    }

    package struct Cause: Sendable {
        package var name: String
        package var count: Int64
        package var sentence: String
        package var remedy: String

        package init(name: String, count: Int64, sentence: String, remedy: String) {
            self.name = name
            self.count = count
            self.sentence = sentence
            self.remedy = remedy
        }
    }

    package struct Difference: Sendable {
        package var cause: String
        package var customer: String
        package var entitlement: String
        /// What differs: `access`, `until`, …
        package var aspect: String
        /// What the switch would do: `loses`, `gains` or `none`.
        package var effect: String
        package var ours: String
        package var theirs: String
        package var evidenceHere: String
        package var evidenceThere: String

        package init(
            cause: String, customer: String, entitlement: String, aspect: String, effect: String,
            ours: String, theirs: String, evidenceHere: String, evidenceThere: String
        ) {
            self.cause = cause
            self.customer = customer
            self.entitlement = entitlement
            self.aspect = aspect
            self.effect = effect
            (self.ours, self.theirs) = (ours, theirs)
            (self.evidenceHere, self.evidenceThere) = (evidenceHere, evidenceThere)
        }
    }

    package init(
        last: Summary, causes: [Cause], differences: [Difference], cause: String? = nil,
        earlier: [Summary] = []
    ) {
        self.last = last
        self.causes = causes
        self.differences = differences
        self.cause = cause
        self.earlier = earlier
    }

    package func html(in frame: Frame) -> String {
        Layout(
            title: "Rehearsal", section: .checks, heading: "Rehearsal",
            lede: "Each customer’s access, compared with RevenueCat’s.",
            content: """
                <div class="stack">\(verdict(in: frame))\(causesPanel(in: frame))\
                \(differencesPanel(in: frame))\(earlierPanel(in: frame))</div>
                """
        ).html(in: frame)
    }

    /// The page if no rehearsal was stored, or if the stored rehearsal cannot be read.
    ///
    /// - Parameter isChanged: whether the stored summary differs from the summary that the server
    ///   signed.
    package static func empty(isChanged: Bool, in frame: Frame) -> String {
        let empty = Empty(
            title: isChanged ? "The summary was changed" : "No rehearsal yet",
            text: isChanged
                ? """
                No key of this server verifies the stored summary, so it is not shown. Run \
                <code>perennial rehearse</code> again.
                """
                : """
                Before you leave RevenueCat, <code>perennial rehearse</code> compares the access \
                of every customer with RevenueCat’s, and explains each difference.
                """)
        return Layout(
            title: "Rehearsal", section: .checks, heading: "Rehearsal",
            content: "<section class=\"panel\">\(empty.markup)</section>"
        ).html(in: frame)
    }

    private func verdict(in frame: Frame) -> Markup {
        let effect: Markup = """
            The switch would end access in \(Figures.count(last.loses)) \
            \(last.loses == 1 ? "case" : "cases"), and open it in \(Figures.count(last.gains)).
            """
        let limit: Markup =
            last.isComplete
            ? "" : "<p class=\"small\">Incomplete: some customers were not compared.</p>"
        return Panel(
            title: "Verdict", side: "\(frame.time(last.to))",
            content: """
                <div class="big">\(.bdi(last.verdict))</div>\(limit)<dl class="facts">\
                <dt>Compared with</dt><dd>\(.bdi(last.project)), \
                \(.bdi(frame.environment.rawValue))</dd>\
                <dt>Began</dt><dd>\(frame.time(last.from))</dd>\
                <dt>Open entitlements</dt><dd>\(Figures.count(last.entitlements))</dd>\
                <dt>Differences</dt><dd>\(Figures.count(last.differences))</dd>\
                <dt>The switch</dt><dd>\(effect)</dd></dl>
                """,
            id: "verdict"
        ).markup
    }

    private func causesPanel(in frame: Frame) -> Markup {
        let rows = causes.map { one -> Markup in
            let path = DashboardPath.rehearsal.with("cause", one.name)
            let name: Markup =
                one.count == 0
                ? "<code>\(.bdi(one.name))</code>"
                : "<a href=\"\(frame.link(path))\"><code>\(.bdi(one.name))</code></a>"
            return Table.row(
                .init(name),
                [
                    .init("\(Figures.count(one.count))", "num"), .init(.bdi(one.sentence)),
                    .init(.bdi(one.remedy)),
                ])
        }
        let table = Table(
            name: "Causes",
            columns: [
                .init("Cause"), .number("Differences"), .init("Meaning"), .init("What to do"),
            ], rows: rows)
        return Panel(title: "Causes", content: table.markup, classes: "flush", id: "causes").markup
    }

    private func differencesPanel(in frame: Frame) -> Markup {
        guard !differences.isEmpty else {
            guard last.differences > 0, cause == nil else { return "" }
            return Panel(
                title: "Differences",
                content: """
                    <p>The list was deleted when a customer was erased. Run \
                    <code>perennial rehearse</code> again to see it.</p>
                    """
            ).markup
        }
        let rows = differences.map { row(of: $0, in: frame) }
        let table = Table(
            name: "Differences",
            columns: [
                .init("Customer"), .init("Entitlement"), .init("Difference"), .init("The switch"),
                .init("Perennial"), .init("RevenueCat"), .init("Cause"),
            ], rows: rows)
        let all = cause.map { cause -> Markup in
            """
            Only <code>\(.bdi(cause))</code>. \
            <a href="\(frame.link(.rehearsal))">Show all</a>
            """
        }
        let expected =
            cause.map { name in
                causes.first { $0.name == name }?.count ?? 0
            } ?? last.differences
        let more: Markup =
            Int64(differences.count) < expected
            ? """
            <footer>The first \(Figures.count(differences.count)) of \(Figures.count(expected)). \
            The report that the command wrote has all of them.</footer>
            """ : ""
        return Panel(
            title: "Differences", side: all ?? "", content: table.markup + more,
            classes: "flush", id: "differences"
        ).markup
    }

    private func row(of one: Difference, in frame: Frame) -> Markup {
        let effect: Markup =
            switch one.effect {
            case "loses": Chip("ends access", .bad).markup
            case "gains": Chip("opens access", .open).markup
            default: "<span class=\"muted\">no change</span>"
            }
        let evidence = [one.evidenceHere, one.evidenceThere].filter { !$0.isEmpty }.map {
            Markup("<div class=\"small muted\">\(.bdi($0))</div>")
        }
        let cause: Markup =
            evidence.isEmpty
            ? "<code>\(.bdi(one.cause))</code>"
            : """
            <details><summary><code>\(.bdi(one.cause))</code></summary>\
            \(evidence.joined())</details>
            """
        return Table.row(
            .init(frame.customer(one.customer)),
            [
                .init(.bdi(one.entitlement)), .init(.bdi(one.aspect)), .init(effect),
                .init("<span class=\"fold-only muted\">Perennial: </span>\(.bdi(one.ours))"),
                .init("<span class=\"fold-only muted\">RevenueCat: </span>\(.bdi(one.theirs))"),
                .init(cause),
            ])
    }

    private func earlierPanel(in frame: Frame) -> Markup {
        guard !earlier.isEmpty else { return "" }
        let lines = earlier.map { one -> Markup in
            """
            <li><div><b>\(.bdi(one.verdict))</b> <span class="soft">\
            \(Figures.count(one.differences)) \
            \(one.differences == 1 ? "difference" : "differences")\
            \(one.isComplete ? "" : ", incomplete")</span></div>\
            <div class="muted">\(frame.time(one.to))</div></li>
            """
        }
        return Panel(
            title: "Earlier rehearsals",
            content: "<ul class=\"feed two\">\(lines.joined())</ul>"
        ).markup
    }
}
