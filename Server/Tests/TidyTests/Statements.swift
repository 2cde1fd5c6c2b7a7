/// Finds the SQL in Swift text: string literals that begin like a statement, each with the literals
/// that `+` appends.
///
/// Walks the bytes once. Each byte is in code, in a comment, or in a string. The interpolations of
/// a string are kept as they are written. Literals with `#` are not supported.
enum Statements {
    struct Statement: Equatable {
        let line: Int
        /// The text of the statement, in which each run of white space is one space.
        let text: String
    }

    /// The statements of an SQL file. Each statement ends with a line that ends with a semicolon.
    static func statements(inSQL file: SourceFile) -> [Statement] {
        var found: [Statement] = []
        var (words, begin): ([Substring], Int) = ([], 1)
        for (index, line) in file.lines.enumerated() where !line.hasPrefix("--") {
            if words.isEmpty { begin = index + 1 }
            words += line.split(whereSeparator: \.isWhitespace)
            guard line.hasSuffix(";") else { continue }
            found.append(Statement(line: begin, text: words.joined(separator: " ")))
            words = []
        }
        return found
    }

    static func statements(in file: SourceFile) -> [Statement] {
        var reader = LiteralReader(file.text)
        return reader.read().compactMap { literal in
            let joined = literal.text.replacing(#/\\\n/#, with: "")
                .split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let start =
                #/^(SELECT|INSERT INTO|UPDATE|DELETE FROM|TRUNCATE|LOCK TABLE|WITH|CREATE|ALTER) /#
            guard joined.contains(start) else { return nil }
            return Statement(line: literal.line, text: joined)
        }
    }
}

private struct LiteralReader {
    struct Literal {
        var line: Int
        var bytes: [UInt8]
        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    /// The text as bytes, because bytes are compared many times faster than characters.
    private let characters: [UInt8]
    private static let quote = UInt8(ascii: "\"")
    private static let quotes = [quote, quote, quote]
    private var position = 0
    private var line = 1
    private var literals: [Literal] = []
    /// Whether only white space and one `+` have come since the last literal.
    private var continues = false

    init(_ text: String) { characters = Array(text.utf8) }

    mutating func read() -> [Literal] {
        while position < characters.count {
            if sees([UInt8(ascii: "/"), UInt8(ascii: "/")]) {
                skip { $0 != UInt8(ascii: "\n") }
            } else if sees(Self.quotes) {
                addLiteral(closing: Self.quotes)
            } else if sees([Self.quote]) {
                addLiteral(closing: [Self.quote])
            } else {
                let character = characters[position]
                if character == UInt8(ascii: "+") {
                    continues = !literals.isEmpty
                } else if character > UInt8(ascii: " ") {
                    continues = false
                }
                advance()
            }
        }
        return literals
    }

    private func sees(_ mark: [UInt8]) -> Bool {
        characters[position] == mark[0] && characters[position...].starts(with: mark)
    }

    private mutating func advance() {
        if characters[position] == UInt8(ascii: "\n") { line += 1 }
        position += 1
    }

    private mutating func skip(while isPart: (UInt8) -> Bool) {
        while position < characters.count, isPart(characters[position]) { advance() }
    }

    private mutating func addLiteral(closing mark: [UInt8]) {
        let begin = line
        for _ in mark { advance() }
        var text: [UInt8] = []
        while position < characters.count, !sees(mark) {
            if sees([UInt8(ascii: "\\"), UInt8(ascii: "(")]) {
                appendInterpolation(to: &text)
            } else {
                if characters[position] == UInt8(ascii: "\\") { append(to: &text) }
                append(to: &text)
            }
        }
        for _ in mark where position < characters.count { advance() }
        if continues, !literals.isEmpty {
            literals[literals.count - 1].bytes += text
        } else {
            literals.append(Literal(line: begin, bytes: text))
        }
        continues = false
    }

    private mutating func append(to text: inout [UInt8]) {
        guard position < characters.count else { return }
        text.append(characters[position])
        advance()
    }

    /// Appends the text from `\(` to its closing parenthesis, with the strings inside.
    private mutating func appendInterpolation(to text: inout [UInt8]) {
        append(to: &text)
        append(to: &text)
        var (depth, isInString) = (1, false)
        while depth > 0, position < characters.count {
            switch characters[position] {
            case Self.quote: isInString.toggle()
            case UInt8(ascii: "(") where !isInString: depth += 1
            case UInt8(ascii: ")") where !isInString: depth -= 1
            default: break
            }
            append(to: &text)
        }
    }
}
