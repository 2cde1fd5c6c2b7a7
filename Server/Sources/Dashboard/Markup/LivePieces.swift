/// The parts of a page that are updated while it is open, cut out of its HTML.
///
/// The page's stream renders the page again when something has happened, and sends the differences
/// from the last time. So live parts always equal what the page itself would show. This relies only
/// on our HTML being well-formed, without an unescaped `<` or `>` in texts and attributes.
package struct LivePieces: Sendable {
    /// Elements, in the order of the page.
    private var elements: [Message] = []
    /// Rows of tables to which new rows are added, by the id of the table's body.
    private var tables: [(id: String, rows: [Message])] = []

    /// Replaces the element with this id or, if that element is the body of a table, adds rows at
    /// its top.
    package struct Message: Hashable, Sendable, Encodable {
        package var id: String
        package var html: String
    }

    /// The ids of live elements, on any page.
    private static let ids: Set<String> = [
        "tiles", "mrr", "movement", "feed", "left", "answer", "story", "purchases", "groups",
        "history", "rights", "day", "webhook", "checks",
    ]
    /// The prefix of further live ids, one for each webhook.
    private static let prefix = "webhook-"
    private static let idMark = Array(" id=\"".utf8)
    private static let rowMark = Array("<tr id=\"".utf8)
    /// The text that follows the id of a table's body whose rows are live.
    private static let rowsMark = Array("\" data-rows".utf8)

    private typealias Bytes = ArraySlice<UInt8>

    package init(_ html: String) {
        var rest = Array(html.utf8)[...]
        while let mark = rest.firstRange(of: Self.idMark) {
            let id = Self.value(at: rest[mark.upperBound...])
            let opening = rest[..<mark.lowerBound].lastIndex(of: UInt8(ascii: "<"))
            let after = rest[id.endIndex...]
            let name = String(decoding: id, as: UTF8.self)
            let hasRows = after.starts(with: Self.rowsMark)
            guard hasRows || Self.ids.contains(name) || name.hasPrefix(Self.prefix),
                let opening, let element = Self.element(at: rest[opening...])
            else {
                rest = after
                continue
            }
            if hasRows {
                tables.append((name, Self.rows(of: element)))
            } else {
                elements.append(Message(name, element))
            }
            rest = rest[element.endIndex...]
        }
    }

    /// The value of an attribute, up to the quotation mark at its end.
    private static func value(at bytes: Bytes) -> Bytes {
        bytes.prefix { $0 != UInt8(ascii: "\"") }
    }

    /// The element that begins here, with its end tag. Nil if the element does not end.
    private static func element(at html: Bytes) -> Bytes? {
        let name = name(at: html.dropFirst())
        guard !name.isEmpty else { return nil }
        var depth = 0
        var rest = html
        while let bracket = rest.firstIndex(of: UInt8(ascii: "<")) {
            let tag = rest[(bracket + 1)...]
            let isEnd = tag.first == UInt8(ascii: "/")
            guard let close = tag.firstIndex(of: UInt8(ascii: ">")) else { return nil }
            rest = rest[(close + 1)...]
            guard Self.name(at: isEnd ? tag.dropFirst() : tag).elementsEqual(name) else { continue }
            depth += isEnd ? -1 : 1
            if depth == 0 { return html[..<rest.startIndex] }
        }
        return nil
    }

    private static func name(at bytes: Bytes) -> Bytes {
        bytes.prefix {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
    }

    /// The rows of a table's body that have an id.
    private static func rows(of body: Bytes) -> [Message] {
        var rows: [Message] = []
        var rest = body
        while let mark = rest.firstRange(of: rowMark),
            let row = element(at: rest[mark.lowerBound...])
        {
            let id = value(at: rest[mark.upperBound...])
            rows.append(Message(String(decoding: id, as: UTF8.self), row))
            rest = rest[row.endIndex...]
        }
        return rows
    }

    // MARK: - Messages

    /// The differences from earlier pieces; all pieces if there are no earlier pieces. The page
    /// skips rows that it already has.
    package func messages(since earlier: LivePieces?) -> [Message] {
        let known = Dictionary((earlier?.all ?? []).map { ($0.id, $0.html) }) { one, _ in one }
        var messages = elements.filter { known[$0.id] != $0.html }
        for table in tables {
            messages += table.rows.filter { row in known[row.id].map { $0 != row.html } ?? false }
            let new = table.rows.prefix { known[$0.id] == nil }
            guard !new.isEmpty else { continue }
            messages.append(Message(id: table.id, html: new.map(\.html).joined()))
        }
        return messages
    }

    private var all: [Message] { elements + tables.flatMap(\.rows) }
}

extension LivePieces.Message {
    fileprivate init(_ id: String, _ html: ArraySlice<UInt8>) {
        self.init(id: id, html: String(decoding: html, as: UTF8.self))
    }
}
