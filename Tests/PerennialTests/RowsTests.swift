import Foundation
import Testing

/// The table of situations, and the stories that play them.
@Suite struct RowsTests {
    static let rowsCount = 70
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    private struct Row {
        let number: Int
        let situation: String
        let state: String
    }

    private func rows() throws -> [Row] {
        let text = try String(
            contentsOf: Self.folder.appendingPathComponent("Tables/rows.txt"), encoding: .utf8)
        return try text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            try #require(cells.count == 3, "\(line)")
            return Row(
                number: try #require(Int(cells[0])), situation: cells[1], state: cells[2])
        }
    }

    /// The numbers with which the names of stories begin.
    private func numbersOfStories() throws -> Set<Int> {
        let folder = Self.folder.appendingPathComponent("Stories")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        var numbers: Set<Int> = []
        for file in files {
            let source = try String(
                contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
            for match in source.matches(of: #/func `(\d+): /#) {
                if let number = Int(match.1) { numbers.insert(number) }
            }
        }
        return numbers
    }

    @Test func `the table of situations has every row once`() throws {
        #expect(try rows().map(\.number) == Array(1...Self.rowsCount))
        let states: Set = ["story", "⌘", "not yet"]
        for row in try rows() { #expect(states.contains(row.state), "\(row.number)") }
    }

    @Test func `the rows marked as stories are exactly the rows that have a story`() throws {
        let claimed = try rows().filter { $0.state == "story" }.map(\.number)
        #expect(Set(claimed) == (try numbersOfStories()))
    }
}
