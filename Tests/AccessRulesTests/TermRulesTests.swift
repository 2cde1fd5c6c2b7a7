import AccessRules
import Foundation
import PerennialContract
import Testing

/// Uses the server's table of terms. If a device computed other ends than the server, the app would
/// show wrong days.
@Suite struct TermRulesTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var claim: String
        var zone: TimeZone
        var isExtending: Bool
        var bought: String
        var expected: String
        var testDescription: String { "\(claim) (\(zone.identifier))" }

        var rules: TermRules {
            let zone = zone
            let clock = WallClock { moment in
                zone.secondsFromGMT(
                    for: Date(timeIntervalSince1970: Double(moment.milliseconds) / 1000))
            }
            return TermRules(
                products: TermRulesTests.products, clock: clock, isExtending: isExtending)
        }

        var transactions: [StoreTransaction] {
            get throws {
                try bought.components(separatedBy: ", ").enumerated().map { index, text in
                    try transaction(text, id: "\(100 + index)")
                }
            }
        }

        /// An item of a row, such as `month x3 2026-01-31 10:00 back 2026-02-01 10:00`.
        private func transaction(_ text: String, id: String) throws -> StoreTransaction {
            let pattern = #/(\S+)(?: x(\d+))? (\d.{15,16}?)(?: back (\d.{15,16}))?/#
            guard let match = text.wholeMatch(of: pattern)?.output else {
                throw Situation.Unreadable(text)
            }
            let from = try moment(String(match.3))
            return StoreTransaction(
                id: id, originalID: id, productID: String(match.1), kind: .nonRenewing,
                purchasedAt: from, revokedAt: try match.4.map { try moment(String($0)) },
                quantity: match.2.flatMap { Int($0) } ?? 1, signedAt: from)
        }

        /// Reads a time of a row. Uses a formatter, so that rows are not read with the code that
        /// they test.
        func moment(_ text: String) throws -> Timestamp {
            let isUTC = text.hasSuffix("Z")
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = isUTC ? TimeZone(identifier: "UTC") : zone
            format.dateFormat = "yyyy-MM-dd HH:mm"
            guard let date = format.date(from: isUTC ? String(text.dropLast()) : text) else {
                throw Situation.Unreadable(text)
            }
            return Timestamp(milliseconds: Int64(date.timeIntervalSince1970) * 1000)
        }
    }

    static let products = [
        "day": (0, 1), "week": (0, 7), "month": (1, 0), "month+": (1, 1), "quarter": (3, 0),
        "half": (6, 0), "year": (12, 0), "year+": (12, 1), "other": (1, 0),
    ].reduce(into: [String: TermRules.Length]()) { products, entry in
        products[entry.key] = TermRules.Length(
            months: entry.value.0, days: entry.value.1,
            chain: entry.key == "other" ? "other" : "all")
    }

    static func rows() throws -> [Row] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Server/Tests/LedgerTests/Tables/terms.txt")
        var rows: [Row] = []
        var head = ["UTC", "stack"]
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("#") { continue }
            if line.hasPrefix("[") {
                head = line.dropFirst().dropLast().split(separator: " ").map(String.init)
                continue
            }
            guard let zone = TimeZone(identifier: head[0]),
                let match = line.wholeMatch(of: #/([^:]+): (.+) => (.+)/#)?.output
            else { throw Situation.Unreadable(String(line)) }
            rows.append(
                Row(
                    claim: String(match.1), zone: zone, isExtending: head[1] == "extend",
                    bought: String(match.2), expected: String(match.3)))
        }
        return rows
    }

    @Test(arguments: try rows())
    func `a device computes the terms of the server's table`(row: Row) throws {
        let expected: [String] =
            row.expected == "nothing"
            ? []
            : try row.expected.components(separatedBy: ", ").map { text in
                let match = try #require(text.wholeMatch(of: #/(\S+) (.+)\.\.(.+)/#)?.output)
                let from = try row.moment(String(match.2))
                let until = try row.moment(String(match.3))
                return "\(match.1) \(from)..\(until)"
            }
        for bought in [try row.transactions, try row.transactions.reversed()] {
            let terms = row.rules.terms(of: bought)
            let shown = row.rules.displayed(terms).map { "\($0.productID) \($0.from)..\($0.until)" }
            #expect(shown == expected)
            let ends = row.rules.ends(of: bought)
            #expect(
                ends == Dictionary(uniqueKeysWithValues: terms.map { ($0.transactionID, $0.until) })
            )
        }
    }

    @Test func `the table of terms has many rows`() throws { #expect(try Self.rows().count > 60) }

    @Test func `a product that is not a term, or has no length, is ignored`() throws {
        let row = try #require(try Self.rows().first)
        let others: [StoreTransaction] = [
            .bought("1", "season", from: 0, to: 1), .bought("2", "month", from: 0, to: 1),
        ]
        #expect(row.rules.terms(of: others).isEmpty)
    }
}
