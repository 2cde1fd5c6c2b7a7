import PerennialContract

/// The messages of one moment: from the phone, from Apple, and from the server.
package struct WireEntry: Hashable, Sendable {
    /// The maximum number of entries that the page shows.
    package static let countMax = 40

    /// The number of the entry, which grows with each entry.
    package var id: Int
    package var at: Timestamp
    package var lines: [Line]

    package init(id: Int, at: Timestamp, lines: [Line]) {
        self.id = id
        self.at = at
        self.lines = lines
    }

    package struct Line: Hashable, Sendable {
        /// The sender of the message, in one word.
        package var who: String
        package var content: Content
        /// Details in small print, such as a subtype.
        package var detail: String?
        /// The result of the message.
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
