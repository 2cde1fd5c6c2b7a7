import AppStoreFormats
import Engine
import Ledger
import Reports
import Simulator

/// The numbers of each day, as the reports or the simulator's books have them.
struct MoneyFigures: Hashable, Sendable {
    struct Key: Hashable, Sendable {
        var day: Int64
        /// The currency of an amount. Nil for numbers of subscriptions.
        var currency: String?
        var name: String
    }

    /// The numbers. Numbers that are zero are left out.
    private var numbers: [Key: Int64] = [:]
    /// Sentences about inconsistent days: their movements do not add up to the state at their end,
    /// or they do not begin with the state at the end of the previous day.
    private(set) var openParts: [String] = []

    /// The number of days that a report shows, enough for the longest trial.
    private static let reportDays: Int64 = 1150
    private static let counts = [
        ("active", "active", "active"), ("active", "grace", "grace"),
        ("trials", "closing", "trials"), ("billing", "retry", "retry"),
        ("seats", "closing", "seats"),
    ]
    private static let money = [
        "gross", "refunded", "credited", "tax", "commission", "proceeds",
    ]

    /// Reads the numbers from the reports at a moment.
    ///
    /// - Parameters:
    ///   - isAsKnown: whether to report what was known at that moment.
    ///   - isRestated: whether to leave out refunds that were reversed.
    init(
        _ engine: Engine, _ app: AppID, at moment: Instant, isAsKnown: Bool = false,
        isRestated: Bool = false
    ) async throws {
        func rows(_ name: String) async throws -> (columns: [String], rows: [Report.Row]) {
            let today = WallClock.utc.dayNumber(at: moment)
            var query = ReportQuery(name, days: today - Self.reportDays...today, by: .day)
            if isAsKnown { query.asKnownAt = moment }
            query.isRestated = isRestated
            let report = try await engine.reporting.report(query, of: app).report
            return (report.definition.columns.map(\.name), report.rows)
        }
        let revenue = try await rows("revenue")
        for row in revenue.rows {
            for (column, value) in zip(revenue.columns, row.values) {
                numbers[Key(row.period.days.lowerBound, row.currency, column)] = value.number
            }
        }
        for (report, column, name) in Self.counts {
            let found = try await rows(report)
            guard let place = found.columns.firstIndex(of: column) else { continue }
            for row in found.rows {
                numbers[Key(row.period.days.lowerBound, nil, name)] = row.values[place].number
            }
        }
        for report in ["mrr_movement", "active_movement", "seats"] {
            openParts += Self.openParts(of: try await rows(report).rows, report)
        }
        numbers = numbers.filter { $0.value != 0 }
    }

    private static func openParts(of rows: [Report.Row], _ report: String) -> [String] {
        var closing: [String: Int64] = [:]
        return rows.compactMap { row in
            let values = row.values.map(\.number)
            let opening = closing.updateValue(values.last ?? 0, forKey: row.currency ?? "")
            let isClosed = values.dropLast().reduce(0, +) == values.last
            let isContinued = opening.map { $0 == values.first } ?? true
            guard !isClosed || !isContinued else { return nil }
            return "\(report) of \(row.period) \(row.currency ?? "") does not close: \(values)"
        }
    }

    /// Reads the numbers from the simulator's books.
    ///
    /// - Parameter isRestated: whether to leave out refunds that were reversed.
    init(
        _ store: AppStoreSimulator, _ days: ClosedRange<Int64>, isRestated: Bool
    ) async throws {
        let books = try await store.dailyBooksAsCollected(
            from: AppStoreFormats.CivilDate(daysSince1970: days.lowerBound),
            to: AppStoreFormats.CivilDate(daysSince1970: days.upperBound), isRestated: isRestated)
        for day in books.days {
            let date = day.date.daysSince1970
            for (currency, sum) in day.money {
                for (name, amount) in zip(
                    Self.money,
                    [
                        sum.charged, sum.refunded - sum.reversed, sum.credited, sum.tax,
                        sum.commission, sum.proceeds,
                    ])
                {
                    numbers[Key(date, currency, name)] = amount
                }
            }
            let counts = day.counts
            // A grace period after a free period counts as free.
            for (name, count) in [
                ("active", counts.active - counts.freeGrace),
                ("grace", counts.grace - counts.freeGrace),
                ("trials", counts.trial + counts.freeGrace), ("retry", counts.retry),
                ("seats", Int(counts.seats)),
            ] {
                numbers[Key(date, nil, name)] = Int64(count)
            }
        }
        numbers = numbers.filter { $0.value != 0 }
    }

    /// The number of compared numbers, and the differences as sentences.
    func differences(
        from books: MoneyFigures, in days: ClosedRange<Int64>
    ) -> (compared: Int, found: [String]) {
        let keys = Set(numbers.keys).union(books.numbers.keys).filter { days.contains($0.day) }
        let different = keys.filter { numbers[$0] != books.numbers[$0] }
        let found = different.map { key in
            "\(Ledger.CivilDate(dayNumber: key.day).text) \(key.name) \(key.currency ?? ""): "
                + "\(numbers[key] ?? 0), in the books \(books.numbers[key] ?? 0)"
        }
        return (keys.count, found.sorted())
    }
}

extension MoneyFigures.Key {
    fileprivate init(_ day: Int64, _ currency: String?, _ name: String) {
        self.init(day: day, currency: currency, name: name)
    }
}
