import Ledger
import Reports
import Storage

/// A request for a report.
package struct ReportQuery: Hashable, Sendable {
    /// The maximum number of periods in one report.
    package static let periodsMax = 1200
    /// The maximum number of rows of one report, over all periods, currencies and parts.
    static let rowsMax = 100_000

    package var name: String
    package var environment: Environment
    /// The first and the last day, counted from 1970-01-01 in the configured time zone. Nil for the
    /// last twelve periods.
    package var days: ClosedRange<Int64>?
    package var length: ReportPeriod.Length
    package var division: Division?
    /// The part of ``division`` to which the report is limited. Nil for all parts.
    package var part: String?
    /// The currency to which amounts are converted. Nil to show each currency separately.
    package var currency: String?
    package var asKnownAt: Instant?
    /// Whether to leave out refunds that were reversed, as if they had never been given. Otherwise
    /// the report shows each refund and its reversal.
    package var isRestated = false
    /// The vendor whose definitions are used, with Perennial's columns beside them. Nil to use
    /// Perennial's definitions alone.
    package var profile: ReportProfile?

    package init(
        _ name: String, in environment: Environment = .production,
        days: ClosedRange<Int64>? = nil, by length: ReportPeriod.Length = .month,
        division: Division? = nil, part: String? = nil, currency: String? = nil,
        asKnownAt: Instant? = nil
    ) {
        self.name = name
        self.environment = environment
        self.days = days
        self.length = length
        self.division = division
        self.part = part
        self.currency = currency
        self.asKnownAt = asKnownAt
    }

    /// The number of periods that are shown if no days are named.
    private static let periodsUsual = 12

    /// The maximum number of days in one report: a century.
    private static let daysMax = 36_600

    /// Whether the report needs a sum for every day. It does if it shows days or weeks, or if
    /// amounts are converted at each day's rates.
    var keepsDays: Bool {
        switch length {
        case .day, .week: true
        case .month, .quarter, .year: currency != nil
        }
    }

    /// The periods of the report, at least one. The last period contains today, unless days are
    /// given.
    func periods(today: Int64) throws(EngineFailure) -> [ReportPeriod] {
        if let days {
            guard days.count <= Self.daysMax else {
                throw .invalidReport("it would have \(days.count) days")
            }
            let periods = ReportPeriod.periods(
                length, in: days.lowerBound..<days.upperBound + 1)
            guard periods.count <= Self.periodsMax else {
                throw .invalidReport("it would have \(periods.count) periods")
            }
            return periods
        }
        let days = Self.usualDays(until: today, by: length)
        return ReportPeriod.periods(length, in: days.lowerBound..<days.upperBound + 1)
    }

    /// The days of the twelve periods that end with a day.
    package static func usualDays(
        until last: Int64, by length: ReportPeriod.Length
    ) -> ClosedRange<Int64> {
        var first = length.start(of: last)
        for _ in 1..<periodsUsual { first = length.start(of: first - 1) }
        return first...last
    }
}

/// A computed report, with the information that its reader needs.
package struct ReportResult: Sendable {
    package var report: Report
    package var query: ReportQuery
    package var periods: [ReportPeriod]
    /// The day in the configured time zone on which the report was made.
    package var today: Int64
    package var clock: WallClock
    /// Whether rows of some purchases are still being derived. Then numbers are too small.
    package var isFilling: Bool
    /// The time that the report treats as now.
    package var moment: Instant
    /// The report contains all changes that were known at this time, or earlier. Nil while
    /// ``isFilling`` is true, or if a copy of the database was read that has no event of the app.
    package var completeUntil: Instant?

    /// A copy of the database that is less behind than this is not worth a warning.
    private static let lagIgnored = Duration.seconds(60)

    /// Whether the report was read from a copy of the database that is so far behind that readers
    /// should know.
    package var isBehind: Bool {
        guard !isFilling else { return false }
        return completeUntil.map { moment - $0 >= Self.lagIgnored } ?? true
    }

    /// Whether later changes can still belong to a period: the period has not ended, or the report
    /// does not contain all changes of the period.
    package func isIncomplete(_ period: ReportPeriod) -> Bool {
        guard let completeUntil else { return true }
        return period.isIncomplete(on: min(today, clock.dayNumber(at: completeUntil)))
    }
}

/// The rows behind a number of a report.
package struct ReportSources: Sendable {
    package var column: ReportDefinition.Column
    package var movements: [ReportSource]
    /// The position where the list continues. Nil if there are no more rows.
    package var next: SourceCursor?
}

/// A position in the list of rows behind a number: the values of the last row that was returned.
package struct SourceCursor: Hashable, Sendable {
    /// The maximum length of a cursor's text, in bytes.
    static let textBytesMax = 2048

    let position: SourcePosition

    init(position: SourcePosition) { self.position = position }

    /// Parses a cursor. Returns nil if the text is not a valid cursor.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.textBytesMax, let bytes = Hexadecimal.bytes(text) else {
            return nil
        }
        let parts = String(decoding: bytes, as: UTF8.self).components("\n")
        guard parts.count == Self.partsCount, let day = Int64(parts[0]), let at = Int64(parts[1])
        else { return nil }
        position = SourcePosition(
            day: day, at: Instant(milliseconds: at), purchase: parts[2], kind: parts[3],
            transaction: parts[4], currency: parts[5])
    }

    private static let partsCount = 6

    package var text: String {
        let parts = [
            "\(position.day)", "\(position.at.milliseconds)", position.purchase, position.kind,
            position.transaction, position.currency,
        ]
        return Hexadecimal.text(Array(parts.joined(separator: "\n").utf8))
    }
}

extension String {
    fileprivate func components(_ separator: Character) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}
