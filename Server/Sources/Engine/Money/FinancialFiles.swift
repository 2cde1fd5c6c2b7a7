import AppStoreFormats
import Ledger
import Storage

/// The stored financial files that are used. No two of these files are about the same days and
/// region.
struct FinancialFiles {
    /// The files that are used, in the order in which they were imported.
    private(set) var counting: [AppleReport] = []

    /// - Parameter reports: the stored reports, in the order of their imports.
    init(_ reports: [AppleReport]) {
        // A report of "no sales" is used only if there is no file.
        let newestFirst =
            reports.filter { !$0.content.isEmpty }.reversed()
            + reports.filter(\.content.isEmpty).reversed()
        for report in newestFirst where !counting.contains(where: report.isAboutSame) {
            counting.append(report)
        }
        let all = counting.filter { $0.isOfAllRegions && !$0.content.isEmpty }
        let regions = counting.filter { !$0.isOfAllRegions }
        counting = counting.filter { report in
            report.isOfAllRegions
                ? !report.content.isEmpty || !regions.contains { $0.days.overlaps(report.days) }
                : !all.contains { $0.days.overlaps(report.days) }
        }
        counting.reverse()
    }

    /// The fiscal months of these files, as days.
    var months: Set<ClosedRange<Int64>> { Set(counting.map { Self.month(of: $0.days) }) }

    /// The days of the fiscal month in which a file begins. Files of one month may name different
    /// last days.
    static func month(of days: ClosedRange<Int64>) -> ClosedRange<Int64> {
        let first = AppStoreFormats.CivilDate(daysSince1970: days.lowerBound)
        guard let month = AppleFiscalMonth(containing: first) else { return days }
        return month.first.daysSince1970...month.last.daysSince1970
    }
}

extension AppleReport {
    fileprivate var isOfAllRegions: Bool {
        ReportFileName(name).region == FinanceReportRequest.allRegions
    }

    fileprivate func isAboutSame(_ other: AppleReport) -> Bool {
        days.overlaps(other.days)
            && ReportFileName(name).region == ReportFileName(other.name).region
    }
}
