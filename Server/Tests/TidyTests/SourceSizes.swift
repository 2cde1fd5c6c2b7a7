/// The upper limits of size. You may lower these limits, but not raise them.
enum SourceSizes {
    static let columnsMax = 100
    static let fileLinesMax = 400
    static let functionLinesMax = 60
    /// Pages that a reader should be able to read at once.
    static let pageLinesMax = ["README.md": 100, "ARCHITECTURE.md": 120]

    static func violations(in file: SourceFile) -> [Violation] {
        if let most = pageLinesMax[file.path] {
            return tooLong(file, most: most, remedy: "move the rest to docs/.")
        }
        guard file.isSwift else { return [] }
        return tooWide(file) + longFunctions(in: file)
            + tooLong(file, most: fileLinesMax, remedy: "give a type of it a file of its own.")
    }

    private static func tooLong(_ file: SourceFile, most: Int, remedy: String) -> [Violation] {
        let count = file.lines.count
        guard count > most else { return [] }
        return [
            Violation(
                path: file.path, line: most + 1, what: "\(count) lines; at most \(most).",
                remedy: remedy)
        ]
    }

    private static func tooWide(_ file: SourceFile) -> [Violation] {
        file.lines.enumerated().compactMap { index, line in
            guard line.count > columnsMax else { return nil }
            return Violation(
                path: file.path, line: index + 1,
                what: "\(line.count) columns; at most \(columnsMax).",
                remedy: "break the line; a comment too.")
        }
    }

    private static func longFunctions(in file: SourceFile) -> [Violation] {
        functions(in: file).filter { $0.lines > functionLinesMax }.map { function in
            Violation(
                path: file.path, line: function.line,
                what: "A body of \(function.lines) lines; at most \(functionLinesMax).",
                remedy: "let one function hold the branches, and its helpers the straight lines.")
        }
    }

    struct Function: Equatable {
        let line: Int
        /// The number of lines between the braces of a body.
        let lines: Int
    }

    /// Functions and initialisers that have a body.
    static func functions(in file: SourceFile) -> [Function] {
        let lines = file.codeLines.map { Array($0) }
        return lines.indices.compactMap { index in
            guard let column = signatureColumn(in: lines[index]) else { return nil }
            var walk = BodyWalk()
            for row in index..<lines.count {
                let start = row == index ? column : 0
                if let end = walk.end(in: lines[row][start...], row: row) {
                    return end.map { Function(line: index + 1, lines: $0) }
                }
            }
            return nil
        }
    }

    /// The place at which the name or the parameters of a function begin; nil if the line declares
    /// no function.
    private static func signatureColumn(in line: [Character]) -> Int? {
        let text = String(line)
        // Checks for plain words first, because a regular expression is parsed each time it is
        // used.
        guard text.contains("func") || text.contains("init") else { return nil }
        let declared = #/(^|\s)(func\s+\S|init[?!]?\s*[<(])/#
        guard let match = text.firstMatch(of: declared) else { return nil }
        return text.distance(from: text.startIndex, to: match.range.lowerBound)
    }
}

/// Walks from a signature to the end of its body.
///
/// The first brace outside of all parentheses opens the body, which ends at the matching brace. A
/// declaration without a body ends at a closing brace or at the next declaration, and has no
/// length.
private struct BodyWalk {
    private var depth = 0
    private var braces = 0
    private var firstRow: Int?
    private var isFirstLine = true

    /// Returns nil to continue. At the end, returns the number of lines between the braces, or an
    /// inner nil if there is no body.
    mutating func end(in line: ArraySlice<Character>, row: Int) -> Int?? {
        defer { isFirstLine = false }
        if firstRow == nil, depth == 0, !isFirstLine, beginsDeclaration(line) {
            return .some(nil)
        }
        for character in line {
            switch character {
            case "(", "[": depth += 1
            case ")", "]": depth -= 1
            case "{" where depth == 0 || firstRow != nil:
                braces += 1
                firstRow = firstRow ?? row
            case "}" where firstRow != nil:
                braces -= 1
                if braces == 0, let firstRow { return max(0, row - firstRow - 1) }
            case "}" where depth == 0: return .some(nil)
            default: break
            }
        }
        return nil
    }

    private func beginsDeclaration(_ line: ArraySlice<Character>) -> Bool {
        let words = String(line).split { " \t(".contains($0) }
        let starts: Set = ["func", "var", "let", "init", "static", "mutating", "package", "case"]
        return words.first.map { starts.contains(String($0)) } ?? true
    }
}
