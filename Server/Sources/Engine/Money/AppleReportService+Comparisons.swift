import AppStoreFormats
import Ledger
import Reports
import Storage

// The App Store's reports other than the daily sales reports.

/// One kind of the App Store's reports, compared with the stored documents.
package struct ReportComparison: Sendable {
    package var kind: SalesReportKind
    package var files: Int
    package var comparedCount: Int
    /// The differences that were found, sorted by day.
    package var differences: [SalesDifference]

    /// The differences because of which money or subscriptions may be missing.
    package var residual: [SalesDifference] { differences.filter(\.cause.isResidual) }
}

extension AppleReportService {
    /// The text that is compared in place of a product, for reports that do not name products by
    /// their ids.
    private static let subscriptions: ProductID = "subscriptions"
    /// The maximum time between an event and the signature of the document about it.
    private static let signatureDelayMax = Duration.seconds(60)

    /// Compares the stored documents with the stored subscription, event, subscriber and financial
    /// reports. A kind of report without any file is left out.
    ///
    /// - Parameter clock: the time zone of the App Store's days.
    package func compare(
        of app: AppID, in days: ClosedRange<Int64>, _ clock: WallClock
    ) async throws -> [ReportComparison] {
        let (settings, _) = try self.context.app(app)
        let span =
            clock.midnight(ofDay: days.lowerBound)..<clock.midnight(ofDay: days.upperBound + 1)
        let filter = MovementFilter(
            app: app, environment: .production, until: context.now(), division: .product)
        let (sales, all) = try await context.scanForReport { tx in
            (
                try tx.appleReports.transactionSales(of: app, in: span),
                try tx.sums.sumsOfAllDays(filter)
            )
        }
        let shifts = try await transactionShifts(of: app, since: span.lowerBound)
        let known = Knowledge(
            app: app, appAppleID: settings.appAppleID,
            products: settings.namedProducts.union(settings.soldProducts ?? [])
                .union(all.compactMap { $0.part.map(ProductID.init(rawValue:)) }),
            days: days, clock: clock, sales: sales, shifts: shifts)
        return [
            try await compareStanding(known), try await compareEvents(known),
            try await compareSubscribers(known), try await compareFinancial(known),
        ].compactMap(\.self)
    }

    /// The settings and names that every comparison needs.
    private struct Knowledge: Sendable {
        let app: AppID
        /// Apple's number for the app. Nil if the configuration does not contain it.
        let appAppleID: Int64?
        /// The products that were ever sold, or that are for sale according to the configuration.
        let products: Set<ProductID>
        let days: ClosedRange<Int64>
        let clock: WallClock
        let sales: [TransactionSale]
        let shifts: [TransactionShift]

        func day(_ moment: Instant) -> Int64? {
            let day = clock.dayNumber(at: moment)
            return days.contains(day) ? day : nil
        }

        /// Whether a row is about this app. If the app's number is unknown, every row counts as
        /// about this app.
        func includes(_ appAppleID: Int64) -> Bool {
            self.appAppleID.map { $0 == appAppleID } ?? true
        }
    }

    /// The latest file of each day that has content, and the days that have a file.
    private func files(
        _ kind: SalesReportKind, _ known: Knowledge
    ) async throws -> (files: [(day: Int64, file: AppleReport)], days: Set<Int64>) {
        let reports = try await context.scanForReport { tx in
            try tx.appleReports.all(kind.rawValue, of: known.app, in: known.days)
        }
        let latest = reports.latest { $0.days.count == 1 ? $0.days.lowerBound : nil }
        let files = latest.filter { !$0.value.content.isEmpty }
            .map { (day: $0.key, file: $0.value) }
        return (files, Set(latest.keys))
    }

    // MARK: - Subscription

    private func compareStanding(_ known: Knowledge) async throws -> ReportComparison? {
        let (files, days) = try await files(.subscription, known)
        guard !days.isEmpty else { return nil }
        var apples: [StandingFigure] = []
        for (day, file) in files {
            for row in try file.rows(SubscriptionRow.self)
            where known.includes(row.appAppleID) {
                var figure = StandingFigure(.init(day: day, country: row.country))
                figure.active = row.paid + row.gracePeriod
                (figure.trials, figure.grace) = (row.freeTrials, row.gracePeriod)
                figure.retry = row.billingRetry
                apples.append(figure)
            }
        }
        let found = StandingReconciliation(
            ours: try await standing(known), apples: Self.summed(apples), days: days)
        return ReportComparison(
            kind: .subscription, files: days.count, comparedCount: found.comparedCount,
            differences: found.differences)
    }

    /// Our numbers of subscriptions at the end of each day.
    private func standing(_ known: Knowledge) async throws -> [StandingFigure] {
        let clock = known.clock
        let first = clock.midnight(ofDay: known.days.lowerBound)
        let last = clock.midnight(ofDay: known.days.upperBound + 1)
        let changes = try await context.scanForReport { tx in
            try tx.movements.standingChanges(of: known.app, in: first..<last)
        }
        var present: [String?: StandingFigure] = [:]
        var rest = changes[...]
        var figures: [StandingFigure] = []
        for day in known.days {
            let end = clock.midnight(ofDay: day + 1)
            while let change = rest.first, change.at < end {
                rest.removeFirst()
                let country = Self.twoLetters(change.storefront)
                var figure = present[country] ?? StandingFigure(.init(day: day, country: country))
                figure.active += change.active
                figure.trials += change.trials
                figure.grace += change.grace
                figure.retry += change.retry
                present[country] = figure
            }
            for (country, figure) in present {
                var atEnd = figure
                atEnd.key = .init(day: day, country: country)
                (atEnd.restored, atEnd.restoredTrials) =
                    Self.restored(known.shifts, in: country, at: end)
                (atEnd.collected, atEnd.collectedTrials) =
                    Self.collected(known.shifts, in: country, at: end)
                atEnd.overSoon = -rest.prefix { $0.at <= end + Self.signatureDelayMax }
                    .filter { $0.retry < 0 && Self.twoLetters($0.storefront) == country }
                    .reduce(0) { $0 + $1.retry }
                figures.append(atEnd)
            }
        }
        return figures
    }

    /// The number of subscriptions that were refunded at a moment, according to documents, and
    /// charged again later. Paid and free subscriptions are counted separately.
    private static func restored(
        _ shifts: [TransactionShift], in country: String?, at moment: Instant
    ) -> (paid: Int64, free: Int64) {
        let restored = shifts.filter { shift in
            guard case .refundReversed(let reversed) = shift.kind, let until = shift.line.until,
                let refunded = shift.line.refundedAt, shift.line.kind == .autoRenewable
            else { return false }
            return twoLetters(shift.line.segment.storefront) == country
                && refunded < moment && moment <= reversed && moment <= until
        }
        let free = restored.count { $0.line.gross == 0 }
        return (Int64(restored.count - free), Int64(free))
    }

    private static func twoLetters(_ storefront: String?) -> String? {
        storefront.map { CountryCode.twoLetters(of: $0) ?? $0 }
    }

    /// The number of subscriptions that were in a grace period at a moment, and were paid later in
    /// that grace period. Counts all such subscriptions, and separately the subscriptions whose
    /// next period costs nothing.
    private static func collected(
        _ shifts: [TransactionShift], in country: String?, at moment: Instant
    ) -> (all: Int64, free: Int64) {
        let collected = shifts.filter { shift in
            guard case .collectedLater(let collected) = shift.kind else { return false }
            return twoLetters(shift.line.segment.storefront) == country
                && shift.line.from < moment && moment <= collected
        }
        return (Int64(collected.count), Int64(collected.count { $0.line.gross == 0 }))
    }

    private static func summed(_ figures: [StandingFigure]) -> [StandingFigure] {
        var sums: [StandingFigure.Key: StandingFigure] = [:]
        for figure in figures {
            sums[figure.key, default: StandingFigure(figure.key)].add(figure)
        }
        return Array(sums.values)
    }

    // MARK: - Events and subscribers

    /// Compares refunds, by day and country. The amount that an upgrade refunds does not count as
    /// an event.
    private func compareEvents(_ known: Knowledge) async throws -> ReportComparison? {
        let (files, days) = try await files(.subscriptionEvent, known)
        guard !days.isEmpty else { return nil }
        func figure(_ count: Int64, _ day: Int64, _ country: String?) -> SalesFigure {
            var figure = SalesFigure(
                SalesFigure.Key(
                    day: day, product: Self.subscriptions, country: country, currency: nil))
            figure.refundedUnits = count
            return figure
        }
        var apples = SalesFigures()
        for (_, file) in files {
            for row in try file.rows(SubscriptionEventRow.self)
            where row.isRefund && known.includes(row.appAppleID) {
                apples.add(figure(row.quantity, row.eventDate.daysSince1970, row.country))
            }
        }
        var ours = SalesFigures()
        for sale in known.sales where sale.isSubscription && sale.isPurchased && sale.refunded > 0 {
            guard let at = sale.refundedAt, let day = known.day(at), !sale.isReplaced
            else { continue }
            ours.add(figure(1, day, Self.twoLetters(sale.storefront)))
        }
        let shifts = known.shifts.compactMap { shift -> SalesShift? in
            guard case .refundReversed = shift.kind, shift.line.kind == .autoRenewable,
                shift.line.refunded > 0, let day = shift.line.refundedAt.flatMap(known.day)
            else { return nil }
            return SalesShift(
                .refundReversed,
                added: [figure(1, day, Self.twoLetters(shift.line.segment.storefront))])
        }
        return Self.comparison(.subscriptionEvent, ours, apples, days, shifts)
    }

    private func compareSubscribers(_ known: Knowledge) async throws -> ReportComparison? {
        let (files, days) = try await files(.subscriber, known)
        guard !days.isEmpty else { return nil }
        var apples = SalesFigures()
        for (_, file) in files {
            for row in try file.rows(SubscriberRow.self)
            where known.includes(row.appAppleID) {
                apples.add(row, as: Self.subscriptions)
            }
        }
        var ours = SalesFigures()
        for sale in known.sales where sale.isSubscription {
            var sale = sale
            sale.product = Self.subscriptions
            ours.add(sale, day: known.day)
        }
        let shifts = known.shifts.filter { $0.line.kind == .autoRenewable }.compactMap {
            SalesShift($0, subject: Self.subscriptions, day: known.day)
        }
        return Self.comparison(.subscriber, ours, apples, days, shifts)
    }

    // MARK: - Financial

    /// Compares sales by fiscal month. The first day of a month stands for the month. Only months
    /// that lie within the days are compared. Rows name products, but not apps.
    private func compareFinancial(_ known: Knowledge) async throws -> ReportComparison? {
        let reports = try await context.scanForReport { tx in
            try tx.appleReports.all(
                SalesReportKind.financial.rawValue, of: known.app, in: known.days)
        }
        let files = FinancialFiles(
            reports.filter {
                let month = FinancialFiles.month(of: $0.days)
                return known.days.contains(month.lowerBound)
                    && known.days.contains(month.upperBound)
            })
        guard !files.counting.isEmpty else { return nil }
        let months = files.months
        @Sendable func month(_ moment: Instant) -> Int64? {
            let day = known.clock.dayNumber(at: moment)
            return months.first { $0.contains(day) }?.lowerBound
        }
        var rows: [(month: Int64, row: FinancialRow)] = []
        for report in files.counting where !report.content.isEmpty {
            let month = FinancialFiles.month(of: report.days).lowerBound
            rows += try report.rows(FinancialRow.self).map { (month, $0) }
        }
        let products = try await products(
            known: known.products, named: Set(rows.map(\.row.vendorIdentifier)),
            soldIn: known.sales, of: known.app)
        var apples = SalesFigures()
        for (month, row) in rows { apples.add(row, products, month: month) }
        var ours = SalesFigures()
        // The App Store pays the seller nothing for free units.
        for sale in known.sales where sale.isPurchased && sale.gross > 0 {
            ours.add(sale, day: month)
        }
        let shifts = known.shifts.compactMap { SalesShift($0, day: month) }
        return Self.comparison(
            .financial, ours, apples, Set(months.map(\.lowerBound)), shifts,
            files: files.counting.count, products: known.products)
    }

    /// - Parameter products: the app's products, for reports whose rows name products and may be
    ///   about other apps; nil for other reports.
    private static func comparison(
        _ kind: SalesReportKind, _ ours: SalesFigures, _ apples: SalesFigures, _ days: Set<Int64>,
        _ shifts: [SalesShift], files: Int? = nil, products: Set<ProductID>? = nil
    ) -> ReportComparison {
        let found = SalesReconciliation(
            ours: ours.all, apples: apples.all, days: days,
            products: products ?? [Self.subscriptions], shifts: shifts,
            coversOtherApps: products != nil)
        return ReportComparison(
            kind: kind, files: files ?? days.count, comparedCount: found.comparedCount,
            differences: found.differences)
    }
}
