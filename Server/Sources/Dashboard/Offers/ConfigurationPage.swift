import PerennialContract

/// What a configuration that was pasted at `/products` would change. The text itself is not shown:
/// it may contain secrets.
package struct ConfigurationPage: Sendable {
    package var preview: ConfigurationPreview

    package init(_ preview: ConfigurationPreview) { self.preview = preview }

    package func html(in frame: Frame) -> String {
        Layout(
            title: "Preview", section: .products,
            heading: "Preview of the configuration",
            lede: "Nothing was changed, and the text was not stored.",
            content: """
                <div class="stack">\(outcome(in: frame))\(entitlements(in: frame))\(differences)\
                \(Self.form(in: frame))</div>
                """
        ).html(in: frame)
    }

    private var losses: Int { preview.entitlements.map(\.losing).reduce(0, +) }

    private func outcome(in frame: Frame) -> Markup {
        let looked = Figures.count(preview.customers, "customer")
        let text =
            preview.complete
            ? "All \(looked) were checked."
            : "Only the first \(looked), by id, could be checked in time. "
                + "perennial config diff checks all of them."
        guard losses > 0 else {
            return Notice(
                preview.complete ? .done : .warning, "No customer would lose access.", text
            ).markup(in: frame)
        }
        let times = losses == 1 ? "once" : "\(Figures.count(losses)) times"
        return Notice(.wrong, "Access would end \(times).", text).markup(in: frame)
    }

    private func entitlements(in frame: Frame) -> Markup {
        guard !preview.entitlements.isEmpty else { return "" }
        let rows = preview.entitlements.map { change in
            Table.row(
                .init("\(.bdi(change.entitlement))"),
                [
                    .init(.bdi(change.environment.rawValue), "r"),
                    .init("\(Figures.count(change.losing)) lose it", "num"),
                    .init(names(change.losingIDs, of: change.losing, in: frame), "full"),
                    .init("\(Figures.count(change.gaining)) gain it", "num"),
                    .init(names(change.gainingIDs, of: change.gaining, in: frame), "full"),
                ])
        }
        let table = Table(
            name: "Customers who would lose or gain access",
            columns: [
                .init("Entitlement"), .init("Of"), .number("Lose it"), .init("Who"),
                .number("Gain it"), .init("Who"),
            ], rows: rows)
        return Panel(
            title: "Customers who would lose or gain access", content: table.markup,
            classes: "flush"
        ).markup
    }

    private func names(_ ids: [String], of count: Int, in frame: Frame) -> Markup {
        let rest: Markup =
            count > ids.count ? ", and \(Figures.count(count - ids.count)) more" : ""
        return "\(ids.map { frame.customer($0) }.joined(by: ", "))\(rest)"
    }

    private var differences: Markup {
        let lines = preview.differences.map(Markup.bdi).joined(by: "\n")
        return Panel(
            title: "Changed rules",
            content: preview.differences.isEmpty
                ? "<p>No rule of this app.</p>" : "<pre>\(lines)</pre>"
        ).markup
    }

    /// The form for pasting a configuration.
    static func form(in frame: Frame) -> Markup {
        guard frame.viewer.mayConfigure else { return "" }
        return Panel(
            title: "Preview a configuration",
            content: """
                <p class="soft">Paste a new <code>perennial.yaml</code> to see who would lose or \
                gain access by it. Nothing is changed, and the text is neither stored nor shown \
                again. It may name only files that the configuration in use names, too.</p>\
                <form method="post" action="\(frame.link(.configurationPreview))">\(frame.csrf)\
                <div><label for="c-t">The whole file</label>\
                <textarea id="c-t" name="configuration" rows="8" required spellcheck="false" \
                autocomplete="off"></textarea></div>\
                <div class="row"><button class="btn" type="submit">Preview\
                </button></div></form>
                """
        ).markup
    }
}
