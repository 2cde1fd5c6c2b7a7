import PerennialContract

/// What was said at one moment: by the phone, by Apple, and by the server.
package struct WireEntry: Hashable, Sendable {
    /// The maximum number of entries that the page shows.
    package static let countMax = 40

    /// Grows with each entry.
    package var id: Int
    package var at: Timestamp
    package var lines: [Line]

    package init(id: Int, at: Timestamp, lines: [Line]) {
        self.id = id
        self.at = at
        self.lines = lines
    }

    package struct Line: Hashable, Sendable {
        /// Who speaks, in one word.
        package var who: String
        package var content: Content
        /// Such as a subtype, in small print.
        package var detail: String?
        /// What became of it.
        package var result: String

        package init(_ who: String, _ content: Content, detail: String? = nil, result: String = "")
        {
            self.who = who
            self.content = content
            self.detail = detail
            self.result = result
        }
    }

    package enum Content: Hashable, Sendable {
        case code(String)
        case sentence(String)
        case event(String)
    }
}

extension WireEntry {
    /// The line of an event in the server's log.
    package static func line(of event: Event) -> Line {
        let money = event.money.map(Figures.signedMoney)
        let other = event.otherCustomerID.map { "with \($0)" }
        return Line("event", .event(event.type.rawValue), detail: other, result: money ?? "")
    }
}
