/// A file of the repository as text. The checks take values of this type only, so a test can give
/// them a bad sample.
struct SourceFile: Sendable {
    /// The path from the repository's root, with slashes.
    let path: String
    let text: String
    /// The text without the content of comments, strings and backticks. All lines and columns stay
    /// where they are.
    let code: String

    init(path: String, text: String) {
        self.path = path
        self.text = text
        code = path.hasSuffix(".swift") ? Masking.masked(text) : text
    }

    var lines: [Substring] { Self.lines(of: text) }
    var codeLines: [Substring] { Self.lines(of: code) }
    var isSwift: Bool { path.hasSuffix(".swift") }
    var isPage: Bool { path.hasSuffix(".md") }

    /// The folder of the file's target: `Ledger` for `Server/Sources/Ledger/Access.swift`, or
    /// `Benchmarks`. Nil for a file elsewhere, and for the steps of a tutorial.
    var target: String? {
        var parts = path.split(separator: "/").map(String.init)
        if parts.first == "Server" { parts.removeFirst() }
        if parts.count > 1, parts[0] == "Benchmarks" { return parts[0] }
        guard parts.count > 2, ["Sources", "Tests"].contains(parts[0]) else { return nil }
        // The steps of a tutorial are the code of an app, not of a target.
        if parts.contains(where: { $0.hasSuffix(".docc") }) { return nil }
        return parts[1]
    }

    private static func lines(of text: String) -> [Substring] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last == "" { lines.removeLast() }
        return lines
    }
}

/// A violation of a house rule: what and where it is, and its remedy.
struct Violation: Hashable, Sendable, CustomStringConvertible {
    let path: String
    /// The number of the line; the first line is 1.
    let line: Int
    let what: String
    let remedy: String

    var description: String { "\(path):\(line): \(what) Remedy: \(remedy)" }
}
