import Ledger
import Testing

@testable import Engine

/// Pages of a history whose lines change between the requests.
@Suite struct ListPositionTests {
    private func line(
        _ second: Int, _ sentence: String, _ kind: HistoryLine.Kind = .event
    ) -> HistoryLine {
        HistoryLine(
            at: Instant(milliseconds: 1_700_000_000_000) + .seconds(second), kind: kind,
            sentence: sentence)
    }

    private func lines(_ seconds: ClosedRange<Int>) -> [HistoryLine] {
        seconds.map { line($0, "\($0)") }
    }

    /// The lines of three pages: two pages with three lines each, and a last page with the rest.
    /// Each page is cut from the history as it is when that page is requested.
    private func told(_ pages: [[HistoryLine]]) throws -> [String] {
        var told: [HistoryLine] = []
        for (number, lines) in pages.enumerated() {
            let text = told.last?.position.text
            let position = try text.map { try #require(ListCursor($0)) }
            told += lines.rest(after: position).prefix(number < 2 ? 3 : .max)
        }
        return told.map(\.sentence)
    }

    private static let all = (1...9).map { "\($0)" }

    @Test func `if nothing changes between pages, each line is listed once`() throws {
        #expect(try told([lines(1...9), lines(1...9), lines(1...9)]) == Self.all)
    }

    @Test
    func `if a line with an earlier time arrives between pages, all other lines are listed once`()
        throws
    {
        let late = [line(0, "late")]
        let pages = [lines(1...9), late + lines(1...9), late + late + lines(1...9)]
        #expect(try told(pages) == Self.all)
    }

    @Test func `if a line disappears between pages, the next pages still list all other lines`()
        throws
    {
        #expect(try told([lines(1...9), lines(3...9), lines(6...9)]) == Self.all)
    }

    @Test
    func `lines of the same time are each listed once, even if a new line comes between them`()
        throws
    {
        let moment = (1...9).map { line(0, "\($0)") }
        var more = moment
        more.insert(line(0, "late", .fact), at: 2)
        #expect(try told([moment, more, moment]) == Self.all)
    }

    @Test
    func `if a page's last line disappears, the next page begins with other lines of equal time`()
        throws
    {
        let pages = [lines(1...2) + [line(3, "3"), line(3, "4")] + lines(5...9)]
        let without = lines(1...2) + [line(3, "4")] + lines(5...9)
        #expect(try told(pages + [without, without]) == Self.all)
    }

    @Test
    func `the next page begins after the last line, even if the text of that line has changed`() {
        let waiting = line(1, "Not answered yet", .consumption)
        let answered = [line(1, "It was told", .consumption), line(2, "2")]
        #expect(answered.rest(after: waiting.position).map(\.sentence) == ["2"])
    }

    @Test(arguments: [
        "", "2", "_", "5_", "5_0123456789abcde", "5_0123456789abcdeg", "+5_0123456789abcdef",
        "x_0123456789abcdef", "1_2_3",
    ])
    func `a text in a wrong form is not read as a cursor`(text: String) {
        #expect(ListCursor(text) == nil)
        #expect(ListCursor("5_0123456789abcdef")?.text == "5_0123456789abcdef")
    }
}
