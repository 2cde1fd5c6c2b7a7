import AppStoreFormats
import Crypto
import Ledger
import Reports
import Storage

/// The result of an import of a report file.
package struct AppleReportImport: Hashable, Sendable {
    package var kind: String
    /// The days that the file is about, counted from 1970-01-01.
    package var days: ClosedRange<Int64>
    package var rowsCount: Int
    /// Whether the same content had been imported before.
    package var isKnown: Bool
    /// The name of the file that this file replaces. Nil if there is none. Of several files about
    /// the same days, the file that was imported last is used.
    package var replacedName: String? = nil
    /// If a file about all regions is used in place of this file about one region, the name of that
    /// file. Nil otherwise.
    package var displacedBy: String? = nil
    /// The vendor number in the file's name, if it differs from the configured number. Otherwise
    /// nil.
    package var otherVendorNumber: String? = nil

    /// Whether the file is compared with our sales. False for a sales report of a week or longer.
    package var isCompared: Bool { kind != SalesReportKind.sales.rawValue || days.count == 1 }
}

/// A comparison of our sales with the sales that the App Store reports.
package struct SalesComparison: Sendable {
    package var days: ClosedRange<Int64>
    package var reconciliation: SalesReconciliation
    /// The number of files that were read.
    package var files: Int
    /// The days of these files.
    package var fileDays: Set<Int64> = []
    /// Our sales: one figure for each key.
    package var ours: [SalesFigure] = []
    package var apples: [SalesFigure] = []
}

/// Apple's report files: fetches, stores, and compares them with our sales.
package struct AppleReportService: Sendable {
    let context: Context
    let reportFetchPauses: ReportFetchPauses
    let reportVersions: ReportVersions

    /// - Parameter former: the service of the previous configuration. Its caches are reused.
    init(context: Context, former: AppleReportService?) {
        self.context = context
        reportFetchPauses = former?.reportFetchPauses ?? ReportFetchPauses()
        reportVersions = former?.reportVersions ?? ReportVersions()
    }

    /// The maximum number of imported files in one list.
    package static let appleFilesMax = 400

    /// Reads one of the App Store's report files and stores it byte for byte. Nothing is stored if
    /// any part of the file cannot be read. Idempotent. If several files are about the same days
    /// and the same region, the file that was imported last counts.
    ///
    /// - Parameters:
    ///   - content: the text of the file, decompressed.
    ///   - name: the name under which Apple sent the file; some reports give their day only
    ///     there.
    ///   - app: the app whose sales the file is about.
    /// - Throws: ``SalesReportFailure``, which names line and column; ``EngineFailure``.
    package func importFile(
        _ content: [UInt8], name: String, of app: AppID
    ) async throws -> AppleReportImport {
        let (settings, _) = try self.context.app(app)
        let report = try AnySalesReport(parsing: content)
        let days = try report.days(of: name)
        let now = context.now()
        let stored = AppleReport(
            kind: report.kind.rawValue, days: days, digest: Array(SHA256.hash(data: content)),
            name: name, rowsCount: report.rowsCount, importedAt: now, content: content)
        let (before, found) = try await context.transaction { tx in
            let before =
                report.kind == .financial
                ? try tx.appleReports.files(of: app, in: days, limit: Self.appleFilesMax) : []
            return (before, try tx.appleReports.insert(stored, in: app))
        }
        let fileName = ReportFileName(name)
        let financial = before.filter { $0.kind == stored.kind && $0.hasContent }
        let replaced =
            report.kind == .financial
            ? Self.replaced(by: stored, among: financial, found)
            : found.later.last { $0.hasContent }
        let vendorNumber =
            context.reconciliationSettings.reports(app)?.vendorNumber ?? settings.money.vendorNumber
        return AppleReportImport(
            kind: stored.kind, days: days, rowsCount: stored.rowsCount, isKnown: found.isKnown,
            replacedName: replaced?.name,
            displacedBy: fileName.region == FinanceReportRequest.allRegions
                ? nil
                : financial.first {
                    ReportFileName($0.name).region == FinanceReportRequest.allRegions
                }?.name,
            otherVendorNumber: fileName.vendorNumber.flatMap { number in
                vendorNumber.map { $0 == number } ?? true ? nil : number
            })
    }

    /// The file of the same region that was used until now. Nil if there is no such file.
    ///
    /// - Parameter files: the financial files about any of the days, in the order of their imports,
    ///   the last first.
    private static func replaced(
        by report: AppleReport, among files: [AppleReportFile], _ found: AppleReportInsertion
    ) -> AppleReportFile? {
        let region = ReportFileName(report.name).region
        guard let last = files.first(where: { ReportFileName($0.name).region == region }) else {
            return nil
        }
        // The same content was imported last.
        let isSame = found.isKnown && last.days == report.days && !found.later.contains(last)
        return isSame ? nil : last
    }

    /// Compares our sales with the App Store's daily sales reports.
    ///
    /// - Parameter clock: the time zone of the App Store's days, which is the time zone of the
    ///   agreement's territory.
    package func reconcileSales(
        of appID: AppID, in days: ClosedRange<Int64>, _ clock: WallClock
    ) async throws -> SalesComparison {
        let (app, _) = try context.app(appID)
        let span =
            clock.midnight(ofDay: days.lowerBound)..<clock.midnight(ofDay: days.upperBound + 1)
        let (files, sales) = try await context.scanForReport { tx in
            (
                try tx.appleReports.all(SalesReportKind.sales.rawValue, of: appID, in: days),
                try tx.appleReports.transactionSales(of: appID, in: span)
            )
        }
        let latest = files.latest { $0.days.count == 1 ? $0.days.lowerBound : nil }
        // The report of a day without sales has no content.
        var rows: [SalesRow] = []
        for file in latest.values where !file.content.isEmpty {
            rows += try file.rows(SalesRow.self)
                .filter { $0.productType.isInAppPurchase && app.sells($0) }
        }
        let products = try await products(
            known: app.namedProducts.union(app.soldProducts ?? []), named: Set(rows.map(\.sku)),
            soldIn: sales, of: appID)
        var apples = SalesFigures()
        for row in rows { apples.add(row, products) }
        var ours = SalesFigures()
        for sale in sales {
            ours.add(sale) { moment in
                let day = clock.dayNumber(at: moment)
                return days.contains(day) ? day : nil
            }
        }
        func reconciliation(_ shifts: [SalesShift]) -> SalesReconciliation {
            SalesReconciliation(
                ours: ours.all, apples: apples.all, days: Set(latest.keys),
                products: app.soldProducts ?? [], shifts: shifts)
        }
        var found = reconciliation([])
        if !found.differences.isEmpty {
            found = reconciliation(
                try await transactionShifts(of: appID, since: span.lowerBound).compactMap {
                    SalesShift($0) { moment in
                        let day = clock.dayNumber(at: moment)
                        return days.contains(day) ? day : nil
                    }
                })
        }
        return SalesComparison(
            days: days, reconciliation: found, files: latest.count, fileDays: Set(latest.keys),
            ours: ours.all, apples: apples.all)
    }

    /// The imported files that are about any of the days, without their content. The file that was
    /// imported last comes first. Returns at most ``appleFilesMax`` files.
    package func files(
        of appID: AppID, in days: ClosedRange<Int64>
    ) async throws(EngineFailure) -> [AppleReportFile] {
        _ = try context.app(appID)
        return try await context.read { tx in
            try tx.appleReports.files(of: appID, in: days, limit: Self.appleFilesMax)
        }
    }

    /// The first and the last day that any imported file is about. Returns nil if there is no file.
    package func fileDays(of appID: AppID) async throws(EngineFailure) -> ClosedRange<Int64>? {
        _ = try context.app(appID)
        return try await context.read { tx in try tx.appleReports.days(of: appID) }
    }

    /// The number of purchases that are read at once in the search for shifts.
    private static let shiftPurchasesMax = 500

    /// The sales that the App Store counts at another moment than we do. Ignores documents from
    /// before the given moment.
    func transactionShifts(
        of app: AppID, since: Instant
    ) async throws -> [TransactionShift] {
        var shifts: [TransactionShift] = []
        var last = ""
        while true {
            let after = last
            let page = try await context.read { tx in
                try tx.appleReports.transactionShifts(
                    of: app, since: since, after: after, limit: Self.shiftPurchasesMax)
            }
            shifts += page.shifts
            guard let next = page.last else { return shifts }
            last = next
        }
    }
}

/// A stored file that this release cannot read.
package struct UnreadableReport: Error, CustomStringConvertible {
    package var name: String
    package var failure: SalesReportFailure

    package var description: String {
        "The imported file \(name) cannot be read: \(failure) Import the right file: if "
            + "there are several, the one that was imported last is used."
    }
}

extension [AppleReport] {
    /// For each key, the report that was imported last. A report of "no sales" is used only if
    /// there is no file.
    ///
    /// - Parameter key: nil for a report that is left out.
    func latest<Key: Hashable>(_ key: (AppleReport) -> Key?) -> [Key: AppleReport] {
        var latest: [Key: AppleReport] = [:]
        for report in self {
            guard let key = key(report) else { continue }
            if report.content.isEmpty, latest[key]?.content.isEmpty == false { continue }
            latest[key] = report
        }
        return latest
    }
}

extension AppleReport {
    func rows<Row: SalesReportRow>(_: Row.Type) throws(UnreadableReport) -> [Row] {
        do throws(SalesReportFailure) {
            return try SalesReport<Row>(parsing: content).rows
        } catch { throw UnreadableReport(name: name, failure: error) }
    }
}

extension AppSettings {
    /// Whether a row of a sales report is about this app. If the app's SKU is unknown, every row
    /// counts as about this app.
    func sells(_ row: SalesRow) -> Bool {
        money.appSKU.map { $0 == row.parentIdentifier } ?? true
    }
}

extension AnySalesReport {
    fileprivate var rowsCount: Int {
        switch self {
        case .sales(let report): report.rows.count
        case .subscription(let report): report.rows.count
        case .subscriptionEvent(let report): report.rows.count
        case .subscriber(let report): report.rows.count
        case .offerCodeRedemption(let report): report.rows.count
        case .preOrder(let report): report.rows.count
        case .financial(let report): report.rows.count
        }
    }

    /// The days that the rows are about. If the rows do not name the days, the date in the file's
    /// name.
    fileprivate func days(of name: String) throws(EngineFailure) -> ClosedRange<Int64> {
        var days: [Int64] = []
        switch self {
        case .sales(let report):
            days = report.rows.flatMap { [$0.begin.daysSince1970, $0.end.daysSince1970] }
        case .financial(let report):
            days = report.rows.flatMap { [$0.start.daysSince1970, $0.end.daysSince1970] }
        case .subscription, .subscriptionEvent, .subscriber, .offerCodeRedemption, .preOrder: break
        }
        if let first = days.min(), let last = days.max() { return first...last }
        guard let day = ReportFileName(name).day else {
            throw .unreadable(
                "Neither the rows of \(name) nor its name contain the day. Give the file the "
                    + "name under which Apple sent it, such as S_D_80012345_20261121.")
        }
        return day...day
    }
}
