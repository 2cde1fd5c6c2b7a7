import PerennialContract

/// The part of a span of time that was delivered again, and a form to continue with the rest.
package struct ReplayedPart: Hashable, Sendable {
    package var count: Int
    /// Where the rest begins. Nil if nothing is left.
    package var rest: Rest?

    package struct Rest: Hashable, Sendable {
        /// The fields of the form, with the cursor after which the replay continues.
        package var fields: [Field]
        /// The last event that was read, and when it became known.
        package var event: Int64
        package var knownAt: Timestamp?

        package init(fields: [Field], event: Int64, knownAt: Timestamp?) {
            self.fields = fields
            self.event = event
            self.knownAt = knownAt
        }
    }

    package struct Field: Hashable, Sendable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package init(count: Int, rest: Rest? = nil) {
        self.count = count
        self.rest = rest
    }

    func markup(of webhook: String, in frame: Frame) -> Markup {
        guard frame.viewer.mayConfigure else { return "" }
        let verb: Markup = count == 1 ? "is" : "are"
        let sent: Markup = "\(Figures.count(count, "event")) \(verb) sent again"
        guard let rest else {
            return """
                <div class="say ok" role="status">\(Icon.check.markup)<div><strong>\(sent).\
                </strong> That is the whole span.</div></div>
                """
        }
        let fields = rest.fields.map { field -> Markup in
            """
            <input type="hidden" name="\(.value(field.name))" value="\(.value(field.value))">
            """
        }
        let time: Markup = rest.knownAt.map { " of \(frame.longTime($0))" } ?? ""
        return """
            <div class="say warn" role="status">\(Icon.warning.markup)<div><strong>\(sent), up to \
            event \(Figures.count(rest.event))\(time).</strong> The rest of the span was not sent. \
            <form class="inline" method="post" \
            action="\(frame.link(.act("replay", onWebhook: webhook)))">\(frame.csrf)\
            \(fields.joined())<button class="link" type="submit">Send the rest</button>\
            </form></div></div>
            """
    }
}
