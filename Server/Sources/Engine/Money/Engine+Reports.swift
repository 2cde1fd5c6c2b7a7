import Ledger
import Reports
import Storage

package typealias ReportSource = Storage.ReportSource

extension Engine {
    /// The maximum number of rows on a page of what is behind a number.
    package static let reportSourcesMax = 500

    /// Computes a report of an app.
    ///
    /// - Throws: ``EngineFailure``: `unknownReport` with the known ones, or `reportTooLong`.
    package func report(
        _ query: ReportQuery, of appID: AppID
    ) async throws(EngineFailure) -> ReportResult {
        let (app, _) = try app(appID)
        let definition = try Self.definition(query.name)
        let today = app.money.rules.clock.dayNumber(at: now())
        let periods = query.periods(today: today)
        guard let first = periods.first, let last = periods.last,
            periods.count <= ReportQuery.periodsMax
        else { throw .invalidReport("it would have \(periods.count) periods") }
        let filter = MovementFilter(
            app: appID, environment: query.environment, division: query.division,
            part: query.part, asKnownAt: query.asKnownAt)
        let days = first.days.lowerBound..<last.days.upperBound
        let (sums, fill) = try await read { tx in
            (try tx.movementSums(filter, in: days), try tx.moneyFill(of: appID))
        }
        if let currency = query.currency, app.money.rates.isEmpty,
            sums.contains(where: { $0.currency != nil && $0.currency != currency })
        {
            throw .invalidReport("amounts cannot be converted without a table of rates")
        }
        let report = Report(
            definition, periods, from: sums, in: query.currency, rates: app.money.rates)
        return ReportResult(
            report: report, query: query, periods: periods, today: today,
            clock: app.money.rules.clock, isFilling: !Self.isDone(fill, app))
    }

    /// Lists the movements behind a number of a report, in order of time.
    ///
    /// - Parameter column: a column of the report whose source is movements.
    package func reportSources(
        _ query: ReportQuery, column name: String?, of appID: AppID, after cursor: SourceCursor?,
        limit: Int
    ) async throws(EngineFailure) -> ReportSources {
        let (app, _) = try app(appID)
        let definition = try Self.definition(query.name)
        let columns = definition.columns.filter { $0.source != .computed }
        guard let column = name.map({ name in columns.first { $0.name == name } }) ?? columns.first
        else {
            let known = columns.map(\.name).joined(separator: ", ")
            throw .invalidReport("its columns that rest on purchases are \(known)")
        }
        let periods = query.periods(today: app.money.rules.clock.dayNumber(at: now()))
        guard let first = periods.first, let last = periods.last else {
            throw .invalidReport("it has no periods")
        }
        let filter = MovementFilter(
            app: appID, environment: query.environment, currency: query.currency,
            division: query.division, part: query.part, asKnownAt: query.asKnownAt)
        let days = first.days.lowerBound..<last.days.upperBound
        return try await read { tx in
            let found = try tx.reportSources(
                filter, column, in: days, after: cursor?.position ?? [], limit: limit + 1)
            let page = Array(found.prefix(limit))
            return ReportSources(
                column: column, movements: page,
                next: found.count > limit
                    ? page.last.map { SourceCursor(position: $0.position) } : nil)
        }
    }

    private static func definition(_ name: String) throws(EngineFailure) -> ReportDefinition {
        guard let definition = ReportCatalogue.named(name) else {
            throw .unknownReport(name, known: ReportCatalogue.all.map(\.name))
        }
        return definition
    }

    // MARK: - Filling

    /// Derives rows about money that are missing, or were derived by other rules, some purchases at
    /// a time. Returns how many purchases were examined; 0 if nothing is left. Idempotent, and safe
    /// for several servers at once; a server that is killed leaves the rest to the next one.
    package func fillMoney() async throws(EngineFailure) -> Int {
        var count = 0
        for app in apps.values.sorted(by: { $0.id < $1.id }) {
            count += try await fillMoney(of: app)
        }
        return count
    }

    private func fillMoney(of app: AppSettings) async throws(EngineFailure) -> Int {
        let fill = try await read { tx in try tx.moneyFill(of: app.id) }
        guard !Self.isDone(fill, app) else { return 0 }
        let count = try await transaction { tx in
            if try tx.moneyFill(of: app.id)?.rules != app.money.rules.fingerprint {
                try tx.beginMoneyFill(of: app.id)
            }
            return try tx.continueMoneyFill(of: app.id)
        }
        let filled = (fill?.filled ?? 0) + count
        if filled > 0 {
            logger.info(
                count > 0 ? "rows about money are being derived" : "rows about money are complete",
                metadata: ["app": "\(app.id)", "purchases": "\(filled)"])
        }
        return count
    }

    private static func isDone(_ fill: MoneyFill?, _ app: AppSettings) -> Bool {
        fill.map { $0.isComplete && $0.rules == app.money.rules.fingerprint } ?? false
    }
}
