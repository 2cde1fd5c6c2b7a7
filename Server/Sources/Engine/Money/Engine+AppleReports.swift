import AppStoreFormats
import Crypto
import Ledger
import Reports
import Storage

/// What became of an imported report file.
package struct AppleReportImport: Hashable, Sendable {
    package var kind: String
    /// Counted from 1970-01-01.
    package var days: ClosedRange<Int64>
    package var rowsCount: Int
    /// Whether the same content had been imported before.
    package var isKnown: Bool
}

/// Our sales and the App Store's, compared.
package struct SalesComparison: Sendable {
    package var days: ClosedRange<Int64>
    package var reconciliation: SalesReconciliation
    /// The number of files that were read.
    package var files: Int
    /// The days of these files.
    package var fileDays: Set<Int64> = []
    /// One figure for each key.
    package var ours: [SalesFigure] = []
    package var apples: [SalesFigure] = []
}

package typealias AppleReportFile = Storage.AppleReportFile

extension Engine {
    /// The maximum number of imported files that are named at once.
    package static let appleFilesMax = 400

    /// Reads one of the App Store's report files and stores it byte for byte. Nothing is stored if
    /// any of it cannot be read. Idempotent.
    ///
    /// - Throws: ``SalesReportFailure``, which names line and column; ``EngineFailure``.
    package func importAppleReport(
        _ content: [UInt8], name: String, of app: AppID
    ) async throws -> AppleReportImport {
        _ = try self.app(app)
        let report = try AnySalesReport(parsing: content)
        let days = try report.days(of: name)
        let now = now()
        let stored = AppleReport(
            kind: report.kind.rawValue, days: days, digest: Array(SHA256.hash(data: content)),
            name: name, rowsCount: report.rowsCount, importedAt: now, content: content)
        let isNew = try await transaction { tx in try tx.insert(stored, in: app) }
        return AppleReportImport(
            kind: stored.kind, days: days, rowsCount: stored.rowsCount, isKnown: !isNew)
    }

    /// Compares our sales with the App Store's daily sales reports.
    ///
    /// - Parameter clock: the time zone of the App Store's days: that of the agreement's territory.
    package func reconcileSales(
        of appID: AppID, in days: ClosedRange<Int64>, _ clock: WallClock
    ) async throws -> SalesComparison {
        let (app, _) = try app(appID)
        let span =
            clock.midnight(ofDay: days.lowerBound)..<clock.midnight(ofDay: days.upperBound + 1)
        let (files, sales) = try await read { tx in
            (
                try tx.appleReports(SalesReportKind.sales.rawValue, of: appID, in: days),
                try tx.transactionSales(of: appID, in: span)
            )
        }
        var apples = SalesFigures()
        // Of several files of a day, the one that was imported last.
        var latest: [Int64: AppleReport] = [:]
        for file in files where file.days.count == 1 { latest[file.days.lowerBound] = file }
        // A day without sales has no content.
        for file in latest.values where !file.content.isEmpty {
            let report = try SalesReport<SalesRow>(parsing: file.content)
            for row in report.rows where row.productType.isInAppPurchase && app.sells(row) {
                apples.add(row)
            }
        }
        var ours = SalesFigures()
        for sale in sales { ours.add(sale, clock, in: days) }
        func reconciliation(_ shifts: [SalesShift]) -> SalesReconciliation {
            SalesReconciliation(
                ours: ours.all, apples: apples.all, days: Set(latest.keys),
                products: app.soldProducts ?? [], shifts: shifts)
        }
        var found = reconciliation([])
        if !found.differences.isEmpty {
            found = reconciliation(
                try await transactionShifts(of: appID, since: span.lowerBound).compactMap {
                    SalesShift($0, clock, in: days)
                })
        }
        return SalesComparison(
            days: days, reconciliation: found, files: latest.count, fileDays: Set(latest.keys),
            ours: ours.all, apples: apples.all)
    }

    /// The imported files that are about any of the days, without their content, the ones imported
    /// last first: at most ``appleFilesMax``.
    package func appleFiles(
        of appID: AppID, in days: ClosedRange<Int64>
    ) async throws(EngineFailure) -> [AppleReportFile] {
        _ = try app(appID)
        return try await read { tx in
            try tx.appleReportFiles(of: appID, in: days, limit: Self.appleFilesMax)
        }
    }

    /// The first and the last day that any imported file is about. Nil if there is none.
    package func appleFileDays(of appID: AppID) async throws(EngineFailure) -> ClosedRange<Int64>? {
        _ = try app(appID)
        return try await read { tx in try tx.appleReportDays(of: appID) }
    }

    /// The purchases that are read at once when shifts are looked for.
    private static let shiftPurchasesMax = 500

    /// What the App Store counts at other moments than we do, by documents from a moment on.
    private func transactionShifts(
        of app: AppID, since: Instant
    ) async throws -> [TransactionShift] {
        var shifts: [TransactionShift] = []
        var last = ""
        while true {
            let after = last
            let page = try await read { tx in
                try tx.transactionShifts(
                    of: app, since: since, after: after, limit: Self.shiftPurchasesMax)
            }
            shifts += page.shifts
            guard let next = page.last else { return shifts }
            last = next
        }
    }
}

extension SalesShift {
    /// Returns nil if both sides count it on the same day, or it is about other days.
    fileprivate init?(
        _ shift: TransactionShift, _ clock: WallClock, in days: ClosedRange<Int64>
    ) {
        let sale = TransactionSale(shift.line)
        switch shift.kind {
        case .collectedLater(let moment):
            let (ours, apples) = (clock.dayNumber(at: sale.chargedAt), clock.dayNumber(at: moment))
            guard ours != apples, days.contains(ours) || days.contains(apples) else { return nil }
            self.init(
                .chargeOnAnotherDay,
                removed: days.contains(ours) ? SalesFigure(soldBy: sale, on: ours) : nil,
                added: days.contains(apples) ? [SalesFigure(soldBy: sale, on: apples)] : [])
        case .refundReversed(let moment):
            guard let refundedAt = sale.refundedAt else { return nil }
            var added = [SalesFigure(refundedBy: sale, on: clock.dayNumber(at: refundedAt))]
            // A part that is charged again is in no report.
            if sale.refunded == sale.gross {
                added.append(SalesFigure(soldBy: sale, on: clock.dayNumber(at: moment)))
            }
            added = added.filter { days.contains($0.key.day) }
            guard !added.isEmpty else { return nil }
            self.init(.refundReversed, added: added)
        }
    }
}

extension SalesFigure {
    /// What is sold by a transaction, free or not.
    fileprivate init(soldBy sale: TransactionSale, on day: Int64) {
        self.init(Key(sale, on: day))
        units = sale.quantity
        gross = sale.gross
        proceeds = sale.proceeds
        freeUnits = sale.gross == 0 ? sale.quantity : 0
    }

    fileprivate init(refundedBy sale: TransactionSale, on day: Int64) {
        self.init(Key(sale, on: day))
        refundedUnits = sale.refundedUnits
        refunded = sale.refunded
        proceeds = -sale.refundedProceeds
    }
}

extension SalesFigure.Key {
    fileprivate init(_ sale: TransactionSale, on day: Int64) {
        self.init(
            day: day, product: sale.product,
            country: sale.storefront.map { CountryCode.twoLetters(of: $0) ?? $0 },
            currency: sale.currency)
    }
}

extension AppSettings {
    /// Whether a row of a sales report is about this app. Without its SKU, every row is.
    fileprivate func sells(_ row: SalesRow) -> Bool {
        money.appSKU.map { $0 == row.parentIdentifier } ?? true
    }
}

/// Adds sales up to one figure for each key.
private struct SalesFigures {
    private var figures: [SalesFigure.Key: SalesFigure] = [:]

    var all: [SalesFigure] { Array(figures.values) }

    private mutating func add(_ figure: SalesFigure) {
        figures[figure.key, default: SalesFigure(figure.key)].add(figure)
    }

    mutating func add(_ row: SalesRow) {
        var figure = SalesFigure(
            SalesFigure.Key(
                day: row.begin.daysSince1970, product: ProductID(rawValue: row.sku),
                country: row.countryCode, currency: row.customerCurrency))
        if row.isRefund {
            figure.refundedUnits = max(-row.units, row.isPartialRefund ? 1 : 0)
            figure.refunded = -row.customerAmount
        } else {
            figure.units = row.units
            figure.gross = row.customerAmount
            figure.freeUnits = row.customerPrice == 0 ? row.units : 0
        }
        let isSameCurrency =
            row.proceedsCurrency.isEmpty || row.proceedsCurrency == row.customerCurrency
        figure.proceeds = isSameCurrency ? row.proceeds : nil
        add(figure)
    }

    mutating func add(_ sale: TransactionSale, _ clock: WallClock, in days: ClosedRange<Int64>) {
        let charged = clock.dayNumber(at: sale.chargedAt)
        if days.contains(charged) {
            if sale.isPurchased {
                add(SalesFigure(soldBy: sale, on: charged))
            } else {
                var figure = SalesFigure(SalesFigure.Key(sale, on: charged))
                figure.sharedUnits = sale.quantity
                add(figure)
            }
        }
        guard sale.refunded > 0, let at = sale.refundedAt.map({ clock.dayNumber(at: $0) }),
            days.contains(at)
        else { return }
        add(SalesFigure(refundedBy: sale, on: at))
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

    /// The days that the rows are about; or, if rows do not say it, the date in the file's name.
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
        guard let day = Self.day(in: name) else {
            throw .unreadable(
                "The rows of \(name) do not say the day, and neither does its name. "
                    + "Give it the name under which Apple sent it, such as S_D_80012345_20261121.")
        }
        return day...day
    }

    /// The last eight digits in a row: `S_D_80012345_20261121.txt`.
    private static func day(in name: String) -> Int64? {
        let parts = name.split { !$0.isNumber }.filter { $0.count == 8 }.map(String.init)
        guard let digits = parts.last else { return nil }
        let date = Ledger.CivilDate(
            "\(digits.prefix(4))-\(digits.dropFirst(4).prefix(2))-\(digits.suffix(2))")
        return date?.dayNumber
    }
}
