/// A small parser of HTML that checks whether a page is well-formed, and lists its elements and
/// text.
///
/// The parser is stricter than a browser: every element is closed, and every attribute has a quoted
/// value or none.
struct HTMLDocument {
    struct Element {
        var name: String
        var attributes: [String: String]
    }

    private(set) var elements: [Element] = []
    /// The text between the page's tags, joined.
    private(set) var text = ""
    private(set) var faults: [String] = []

    private var scalars: [Unicode.Scalar]
    private var position = 0
    private var open: [String] = []

    private static let void: Set = ["meta", "link", "input", "br", "hr"]
    private static let voidInSVG: Set = [
        "path", "circle", "rect", "line", "polyline", "polygon",
    ]

    init(_ html: String) {
        scalars = Array(html.unicodeScalars)
        if html.hasPrefix("<!doctype html>") { position = 15 }
        while position < scalars.count {
            if scalars[position] == "<" { readTag() } else { readText() }
        }
        if !open.isEmpty { faults.append("never closed: \(open)") }
    }

    private mutating func readText() {
        while position < scalars.count, scalars[position] != "<" {
            text.unicodeScalars.append(scalars[position])
            position += 1
        }
    }

    private mutating func readTag() {
        position += 1
        let isEnd = take("/")
        let name = readName()
        guard !name.isEmpty else { return fault("a bare < in the text") }
        var attributes: [String: String] = [:]
        skipSpace()
        while position < scalars.count, scalars[position] != ">", scalars[position] != "/" {
            let (key, value) = readAttribute()
            guard !key.isEmpty else { return fault("no attribute's name in <\(name)>") }
            if attributes[key] != nil { fault("\(key) twice in <\(name)>") }
            attributes[key] = value
            skipSpace()
        }
        let isClosed = take("/")
        if !take(">") { fault("<\(name)> has no end") }
        if isEnd { close(name) } else { begin(name, attributes, isClosed: isClosed) }
    }

    private mutating func begin(_ name: String, _ attributes: [String: String], isClosed: Bool) {
        elements.append(Element(name: name, attributes: attributes))
        if name == "form", open.contains("form") { fault("a form in a form") }
        if isClosed, !Self.voidInSVG.contains(name) { fault("<\(name)/> is not closed by that") }
        if !isClosed, !Self.void.contains(name) { open.append(name) }
    }

    private mutating func close(_ name: String) {
        if open.last == name {
            open.removeLast()
        } else {
            fault("</\(name)> closes \(open.last ?? "nothing")")
        }
    }

    private mutating func readAttribute() -> (String, String) {
        let name = readName()
        guard take("=") else { return (name, "") }
        guard take("\"") else {
            fault("\(name) has no quotation mark")
            return (name, "")
        }
        var value = String.UnicodeScalarView()
        while position < scalars.count, scalars[position] != "\"" {
            if scalars[position] == "<" { fault("a < in \(name)") }
            value.append(scalars[position])
            position += 1
        }
        if !take("\"") { fault("\(name) has no end") }
        return (name, String(value))
    }

    private mutating func readName() -> String {
        var name = String.UnicodeScalarView()
        while position < scalars.count, !" \n=<>/\"'`".unicodeScalars.contains(scalars[position]) {
            name.append(scalars[position])
            position += 1
        }
        return String(name)
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard position < scalars.count, scalars[position] == scalar else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while position < scalars.count, scalars[position] == " " || scalars[position] == "\n" {
            position += 1
        }
    }

    private mutating func fault(_ text: String) {
        faults.append("\(text), at \(position)")
    }
}
