import Dashboard
import Engine
import Foundation
import Hummingbird
import Ledger
import PerennialContract
import Reports
import Storage

extension MoneyPages {
    /// The maximum number of differences on the page. Differences that may be missing money come
    /// first. The command lists all differences.
    private static let differencesMax = 30
    /// The maximum number of files on the page. The file that was imported last comes first.
    private static let filesOnPage = 40
    /// The number of months to choose from.
    private static let monthsMax = 24
    /// The report that is compared. Files of other reports are only stored.
    private static let compared = "sales"
    private static let reports = [
        ("sales", "Sales"), ("subscription", "Subscriptions"),
        ("subscription_event", "Subscription events"), ("subscriber", "Subscribers"),
        ("subscription_offer_code_redemption", "Offer codes"), ("pre_order", "Pre-orders"),
        ("financial", "Financial"),
    ]

    func addAppleReports(to router: Router<ServerContext>) {
        routes.page("/reports", for: .money, of: router) { page in
            try await appleReport(page.query["report"], month: page.query["month"], page)
        }
        routes.page("/reports/{month}/{report}", for: .money, of: router) { page in
            try await appleReport(
                try page.parameter("report"), month: try page.parameter("month"), page)
        }
    }

    private func appleReport(
        _ name: String?, month text: String?, _ page: PageRequest
    ) async throws -> String {
        let name = name ?? Self.compared
        guard Self.reports.contains(where: { $0.0 == name }) else {
            throw ProblemError(.appleReportUnknown)
        }
        let span = try await engine.appleReports.fileDays(of: app)
        let today = WallClock.appStore.dayNumber(
            at: Instant(milliseconds: page.frame.now.milliseconds))
        let month = try ReportMonth(text, default: span?.upperBound ?? today)
        let files = try await engine.appleReports.files(of: app, in: month.days)
            .filter { $0.kind.lowercased() == name }
        var shown = AppleReportsPage(
            filters: Self.filters(name, month, span ?? today...today), comparison: nil,
            files: files.prefix(Self.filesOnPage).map { .init($0) })
        // If there are no files, there is nothing to choose or explain.
        guard span != nil else {
            return AppleReportsPage(comparison: nil).html(in: page.frame)
        }
        shown.trouble = Self.trouble(name, month, files, page)
        if shown.trouble == nil {
            do {
                let first = month.days.lowerBound
                let comparison = try await engine.appleReports.reconcileSales(
                    of: app, in: month.days.clamped(to: first...max(first, today)),
                    WallClock.appStore)
                shown.comparison = Self.comparison(comparison, month)
            } catch let error as EngineFailure {
                throw error
            } catch {
                shown.trouble = Notice(
                    .wrong, "A file was not understood.",
                    "\(error) Import it again as Apple sent it.")
            }
        }
        return shown.html(in: page.frame)
    }

    private static func trouble(
        _ name: String, _ month: ReportMonth, _ files: [AppleReportFile], _ page: PageRequest
    ) -> Notice? {
        if name != compared {
            return Notice(
                .about, "Only sales are compared.",
                files.isEmpty
                    ? "No file of this report was imported for \(month.name)."
                    : "Files of this report are stored as they came.")
        }
        if page.environment != .production {
            return Notice(.about, "Apple’s reports have no purchase of the sandbox.")
        }
        if files.isEmpty {
            return Notice(
                .warning, "No sales file of \(month.name) was imported.",
                "Import them with: perennial apple-reports import S_D_*.txt.gz")
        }
        return nil
    }

    private static func filters(
        _ name: String, _ month: ReportMonth, _ span: ClosedRange<Int64>
    ) -> [ChartFilter] {
        var months = [month]
        var each = ReportMonth(day: span.upperBound)
        while months.count < monthsMax, each.days.upperBound >= span.lowerBound {
            if each != month { months.append(each) }
            each = ReportMonth(day: each.days.lowerBound - 1)
        }
        months.sort { $0.days.lowerBound > $1.days.lowerBound }
        return [
            ChartFilter(
                name: "month", label: "Month", options: months.map { .init($0.text, $0.name) },
                selected: month.text),
            ChartFilter(
                name: "report", label: "Report", options: reports.map { .init($0.0, $0.1) },
                selected: name),
        ]
    }

    // MARK: - Comparison

    private static func comparison(
        _ comparison: SalesComparison, _ month: ReportMonth
    ) -> AppleReportsPage.Comparison {
        // A day without a file is not compared.
        let differences = comparison.reconciliation.differences
            .filter { $0.cause != .fileMissing }
        let keys = Set(differences.map(\.key))
        let worst = differences.enumerated().sorted {
            ($0.element.cause.isResidual ? 0 : 1, $0.offset)
                < ($1.element.cause.isResidual ? 0 : 1, $1.offset)
        }.map(\.element)
        return AppleReportsPage.Comparison(
            month: month.name, linesEqual: comparison.apples.count { !keys.contains($0.key) },
            linesTotal: comparison.apples.count, differencesTotal: differences.count,
            unexplained: differences.count(where: \.cause.isResidual),
            differences: worst.prefix(differencesMax).map { .init($0) },
            sums: sums(comparison, differences), days: days(comparison, differences))
    }

    /// The sums of each quantity in each currency, over the days that have a file.
    private static func sums(
        _ comparison: SalesComparison, _ differences: [SalesDifference]
    ) -> [AppleReportsPage.Residual] {
        let ours = comparison.ours.filter { comparison.fileDays.contains($0.key.day) }
        let currencies = Set((ours + comparison.apples).compactMap(\.key.currency)).sorted()
        return currencies.flatMap { currency in
            [SalesDifference.Quantity.gross, .refunded, .proceeds].compactMap { quantity in
                func sum(_ figures: [SalesFigure]) -> Int64 {
                    figures.filter { $0.key.currency == currency }
                        .reduce(0) { $0.addingSaturated($1.amount(quantity) ?? 0) }
                }
                func money(_ sum: Int64) -> PerennialContract.Money {
                    PerennialContract.Money(milliunits: sum, currency: currency)
                }
                let own = differences.filter {
                    $0.quantity == quantity && $0.key.currency == currency
                }
                let lines = comparison.apples.count {
                    $0.key.currency == currency && $0.amount(quantity) ?? 0 != 0
                }
                let (apple, mine) = (sum(comparison.apples), sum(ours))
                guard apple != 0 || mine != 0 || !own.isEmpty else { return nil }
                let unexplained = own.filter(\.cause.isResidual)
                    .reduce(Int64(0)) { $0.addingSaturated($1.difference) }
                let explained = apple.subtractingSaturated(mine).subtractingSaturated(unexplained)
                return AppleReportsPage.Residual(
                    name: "\(currency), \(quantity.rawValue)", lines: lines, apple: money(apple),
                    ours: money(mine), explained: money(explained), unexplained: money(unexplained))
            }
        }
    }

    private static func days(
        _ comparison: SalesComparison, _ differences: [SalesDifference]
    ) -> [AppleReportsPage.Day] {
        comparison.days.map { day in
            func units(_ figures: [SalesFigure]) -> Int64 {
                figures.filter { $0.key.day == day }.reduce(0) { $0.addingSaturated($1.units) }
            }
            return AppleReportsPage.Day(
                name: Ledger.CivilDate(dayNumber: day).text,
                hasFile: comparison.fileDays.contains(day),
                appleUnits: units(comparison.apples), ourUnits: units(comparison.ours),
                differences: differences.count { $0.key.day == day })
        }
    }
}

/// A month of the calendar.
private struct ReportMonth: Hashable {
    let year: Int64
    let month: Int64

    init(day: Int64) {
        let date = Ledger.CivilDate(dayNumber: day)
        (year, month) = (date.year, date.month)
    }

    /// A month such as `2026-10`; without a text, the month of a day.
    init(_ text: String?, default day: Int64) throws {
        guard let text else {
            self.init(day: day)
            return
        }
        guard let date = Ledger.CivilDate(text + "-01") else {
            throw ProblemError(.timeNotReadable)
        }
        self.init(day: date.dayNumber)
    }

    var days: ClosedRange<Int64> {
        let first = Ledger.CivilDate(year: year, month: month, day: 1).dayNumber
        let (nextYear, nextMonth) = month == 12 ? (year + 1, 1) : (year, month + 1)
        return first...(Ledger.CivilDate(year: nextYear, month: nextMonth, day: 1).dayNumber - 1)
    }

    private var first: Ledger.CivilDate { Ledger.CivilDate(year: year, month: month, day: 1) }
    var text: String { String(first.text.prefix(7)) }
    var name: String { "\(first.monthName) \(year)" }
}

extension SalesFigure {
    /// Returns nil if the quantity is not an amount, or if proceeds are in another currency.
    fileprivate func amount(_ quantity: SalesDifference.Quantity) -> Int64? {
        switch quantity {
        case .units, .refundedUnits, .active, .trials, .grace, .retry: nil
        case .gross: gross
        case .refunded: refunded
        case .proceeds: proceeds
        }
    }
}

extension AppleReportsPage.Difference {
    fileprivate init(_ one: SalesDifference) {
        func amount(_ number: Int64) -> AppleReportsPage.Amount {
            guard one.quantity.isMoney, let currency = one.key.currency else {
                return .units(number)
            }
            return .money(PerennialContract.Money(milliunits: number, currency: currency))
        }
        self.init(
            day: Ledger.CivilDate(dayNumber: one.key.day).text, country: one.key.country ?? "–",
            productID: one.key.product.rawValue,
            quantity: one.quantity.rawValue.replacing("_", with: " "), apple: amount(one.apples),
            ours: amount(one.ours), difference: amount(one.difference),
            cause: one.cause.rawValue.replacing("_", with: " "), isResidual: one.cause.isResidual,
            sentence: one.cause.sentence)
    }
}

extension AppleReportsPage.File {
    fileprivate init(_ file: AppleReportFile) {
        let first = Ledger.CivilDate(dayNumber: file.days.lowerBound).text
        let last = Ledger.CivilDate(dayNumber: file.days.upperBound).text
        self.init(
            name: file.name, kind: file.kind, days: first == last ? first : "\(first) to \(last)",
            rows: file.rowsCount, importedAt: Timestamp(file.importedAt))
    }
}

extension ProblemCatalogue.Entry {
    fileprivate static let appleReportUnknown = of(.routeUnknown).variant(
        "Apple has no report of this name.", remedy: "Choose one on the page /reports.")
}
