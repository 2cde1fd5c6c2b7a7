import Foundation
import Testing

/// A table on a page of the documentation, for comparison with the code.
enum Page {
    private static let docs = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../docs")

    /// The cells of each row of the table that has this head.
    static func table(_ head: String, of page: String) throws -> [[String]] {
        try table(head, in: text(page))
    }

    /// The text of a page.
    static func text(_ page: String) throws -> String {
        try String(contentsOf: docs.appending(path: page), encoding: .utf8)
    }

    /// The cells of each row of the first table in a text that has this head.
    static func table(_ head: String, in text: String) throws -> [[String]] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let table = lines.drop { $0 != head }.prefix { $0.hasPrefix("|") }.dropFirst(2)
        try #require(!table.isEmpty, "no table with the head \(head)")
        return table.map { line in
            line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// The words in a cell that are formatted as code.
    static func words(in cell: String) -> [String] {
        cell.matches(of: /`([^`]+)`/).map { String($0.1) }
    }
}
