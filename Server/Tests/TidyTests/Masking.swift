/// Blanks everything in Swift text that is not code: comments, strings, and names in backticks.
///
/// Walks the characters once. At an opening mark, it masks everything up to the closing mark; it
/// copies all other characters. A string is masked together with its interpolations. A mark that is
/// never closed masks the rest of the text. Regex literals are not supported, so these checks use
/// `Regex`.
enum Masking {
    static func masked(_ text: String) -> String {
        var masker = Masker(text)
        masker.run()
        return String(masker.out)
    }
}

private struct Masker {
    let characters: [Character]
    var position = 0
    var out: [Character] = []

    init(_ text: String) {
        characters = Array(text)
        out.reserveCapacity(characters.count)
    }

    mutating func run() {
        while position < characters.count {
            if sees("//") {
                blank(until: "\n", keepsEnd: false)
            } else if sees("/*") {
                blankComment()
            } else if sees("`") {
                blank(until: "`", keepsEnd: true)
            } else if let hashes = hashesBeforeQuote {
                blankString(hashes: hashes)
            } else {
                copy()
            }
        }
    }

    func sees(_ mark: String) -> Bool {
        let mark = Array(mark)
        guard position + mark.count <= characters.count else { return false }
        return zip(mark, characters[position...]).allSatisfy { $0 == $1 }
    }

    /// The number of `#` before the quote that opens a string here; nil if no string opens here.
    var hashesBeforeQuote: Int? {
        let hashes = characters[position...].prefix { $0 == "#" }.count
        let quote = position + hashes
        return quote < characters.count && characters[quote] == "\"" ? hashes : nil
    }

    mutating func copy() {
        out.append(characters[position])
        position += 1
    }

    mutating func blank(_ count: Int = 1) {
        for _ in 0..<count where position < characters.count {
            out.append(characters[position] == "\n" ? "\n" : " ")
            position += 1
        }
    }

    /// If the closing mark is copied, the opening mark is copied, too: each is one character.
    mutating func blank(until end: String, keepsEnd: Bool) {
        if keepsEnd { copy() } else { blank() }
        while position < characters.count, !sees(end) { blank() }
        if keepsEnd, position < characters.count { copy() }
    }

    mutating func blankComment() {
        var depth = 0
        repeat {
            if sees("/*") {
                depth += 1
                blank(2)
            } else if sees("*/") {
                depth -= 1
                blank(2)
            } else {
                blank()
            }
        } while depth > 0 && position < characters.count
    }

    mutating func blankString(hashes: Int, isNested: Bool = false) {
        let fence = String(repeating: "#", count: hashes)
        let start = position
        blank(hashes)
        let quote = sees("\"\"\"") ? "\"\"\"" : "\""
        blank(quote.count)
        let escape = "\\" + fence
        while position < characters.count, !sees(quote + fence) {
            if sees(escape + "(") {
                blank(escape.count + 1)
                blankInterpolation()
            } else if sees(escape) {
                blank(escape.count + 1)
            } else {
                blank()
            }
        }
        blank(quote.count + hashes)
        // Keeps the quote as a mark, because a string is an expression. Without the mark, the line
        // would seem to contain only the code before the string.
        if !isNested { out[start] = "\"" }
    }

    mutating func blankInterpolation() {
        var depth = 1
        while position < characters.count, depth > 0 {
            if let hashes = hashesBeforeQuote {
                blankString(hashes: hashes, isNested: true)
                continue
            }
            if characters[position] == "(" { depth += 1 }
            if characters[position] == ")" { depth -= 1 }
            blank()
        }
    }
}
