import Foundation
import Ledger
import Testing

/// A table in plain text: rows of purchases, and the terms that result from them. The text explains
/// its format.
struct TermTable {
    struct Row: Sendable, CustomTestStringConvertible {
        var claim: String
        var place: String
        var overlap: TermRules.Overlap
        var bought: String
        var expected: String
        var testDescription: String { "\(claim) (\(place), \(overlap.rawValue))" }

        var rules: TermRules {
            TermRules(products: TermTable.products, clock: .of(place), overlap: overlap)
        }

        /// The purchases of the row. Each item is a separate purchase, as in the store.
        var timelines: [Timeline] {
            get throws {
                try bought.components(separatedBy: ", ").enumerated().map { index, text in
                    let payment = try payment(text, transaction: "\(100 + index)")
                    let purchase = PurchaseID(payment.transaction, in: .production)
                    return Timeline(
                        of: purchase,
                        [Fact(about: purchase, attestedAt: payment.from, .payment(payment))])
                }
            }
        }

        /// An item of a row, such as `month x3 2026-01-31 10:00 back 2026-02-01 10:00`.
        private func payment(_ text: String, transaction: String) throws -> Payment {
            let pattern = #/(\S+)(?: x(\d+))? (\d.{15,16}?)(?: back (\d.{15,16}))?/#
            guard let match = text.wholeMatch(of: pattern)?.output else { throw Unreadable(text) }
            return Payment(
                transaction: TransactionID(rawValue: transaction),
                product: ProductID(rawValue: String(match.1)), kind: .nonRenewing,
                from: try moment(String(match.3)), until: nil,
                quantity: match.2.flatMap { Int($0) } ?? 1,
                revocation: try match.4.map {
                    Revocation(at: try moment(String($0)), kind: .refund)
                })
        }

        /// Uses Foundation's calendar, so that rows are not read with the code that they test.
        func moment(_ text: String) throws -> Instant {
            let isUTC = text.hasSuffix("Z")
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(identifier: isUTC ? "UTC" : place)
            format.dateFormat = "yyyy-MM-dd HH:mm"
            format.isLenient = false
            guard let date = format.date(from: isUTC ? String(text.dropLast()) : text) else {
                throw Unreadable(text)
            }
            return Instant(milliseconds: Int64(date.timeIntervalSince1970) * 1000)
        }
    }

    struct Unreadable: Error, CustomStringConvertible {
        var description: String
        init(_ text: String) { description = "not a row of this table: \(text)" }
    }

    static let products: [ProductID: TermRules.Product] = [
        "day": (0, 1), "week": (0, 7), "month": (1, 0), "month+": (1, 1), "quarter": (3, 0),
        "half": (6, 0), "year": (12, 0), "year+": (12, 1), "other": (1, 0),
    ].reduce(into: [:]) { products, entry in
        products[ProductID(rawValue: entry.key)] = TermRules.Product(
            length: Term.Length(months: entry.value.0, days: entry.value.1),
            chain: entry.key == "other" ? "other" : "all",
            reminders: entry.key == "half" ? [] : [7, 1])
    }

    /// The rows of a file in the folder `Tables`.
    static func rows(_ name: String) throws -> [Row] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Tables/\(name).txt")
        var rows: [Row] = []
        var head = ["UTC", "stack"]
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("#") { continue }
            if line.hasPrefix("[") {
                head = line.dropFirst().dropLast().split(separator: " ").map(String.init)
                continue
            }
            guard let overlap = TermRules.Overlap(rawValue: head[1]),
                let match = line.wholeMatch(of: #/([^:]+): (.+) => (.+)/#)?.output
            else { throw Unreadable(String(line)) }
            rows.append(
                Row(
                    claim: String(match.1), place: head[0], overlap: overlap,
                    bought: String(match.2), expected: String(match.3)))
        }
        return rows
    }
}

extension WallClock {
    /// The changes of the UTC offset in the machine's time zone data. Finds them by looking at
    /// every hour of the years in these rows.
    static func of(_ place: String) -> WallClock {
        guard let zone = TimeZone(identifier: place), place != "UTC" else { return .utc }
        var changes: [Change] = []
        let first: Int64 = 1_735_689_600
        var seconds = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(first)))
        let secondsAtFirst = seconds
        for hour in 0..<(4 * 366 * 48) {
            let moment = first + Int64(hour) * 1800
            let now = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(moment)))
            guard now != seconds else { continue }
            changes.append(Change(at: Instant(milliseconds: moment * 1000), seconds: now))
            seconds = now
        }
        return WallClock(name: place, secondsAtFirst: secondsAtFirst, changes: changes)
    }
}
