import Ledger
import Reports
import Storage

/// Reports and exports of money, and the rows that they are computed from.
package struct ReportingService: Sendable {
    let context: Context
    let ruleChecks = RuleChecks()
    let ruleWarnings = RuleChecks()

    /// The maximum number of rows on one page of the list of rows behind a number.
    package static let reportSourcesMax = 500

    /// Computes a report of an app.
    ///
    /// - Throws: ``EngineFailure``: `unknownReport` with the known names, or `invalidReport`.
    package func report(
        _ query: ReportQuery, of appID: AppID
    ) async throws(EngineFailure) -> ReportResult {
        let (app, _) = try context.app(appID)
        let definition = try Self.definition(query)
        let moment = moment(of: query)
        let today = app.money.rules.clock.dayNumber(at: moment)
        let periods = try query.periods(today: today)
        let filter = MovementFilter(
            app: appID, environment: query.environment, until: moment, division: query.division,
            part: query.part, asKnownAt: query.asKnownAt, isRestated: query.isRestated)
        let ours = query.profile.flatMap { _ in ReportCatalogue.named(query.name) }
        try Self.check(query, [definition] + (ours.map { [$0] } ?? []))
        let numbers = try await numbers(
            [definition] + (ours.map { [$0] } ?? []), filter, periods, keepsDays: query.keepsDays)
        func shown(
            _ one: ReportDefinition, beside other: ReportDefinition?
        ) throws(EngineFailure) -> Report {
            try Self.report(one, numbers, query, periods, app, today: today, beside: other)
        }
        var report = try shown(definition, beside: ours)
        if let ours { report = report.beside(try shown(ours, beside: definition)) }
        guard report.rows.count <= ReportQuery.rowsMax else {
            throw Self.tooManyRows(report.rows.count)
        }
        let isFilling = !Self.isDone(numbers.fill, app)
        return ReportResult(
            report: report, query: query, periods: periods, today: today,
            clock: app.money.rules.clock, isFilling: isFilling, moment: moment,
            completeUntil: isFilling ? nil : numbers.completeUntil.map { min($0, moment) })
    }

    /// The data that reports are computed from, all read at the same moment.
    private struct ReportNumbers: Sendable {
        var sums: [MovementSum] = []
        var cohorts: [Cohort: [CohortSum]] = [:]
        var fill: MoneyFill?
        var completeUntil: Instant?
    }

    private static func check(
        _ query: ReportQuery, _ definitions: [ReportDefinition]
    ) throws(EngineFailure) {
        if definitions.contains(where: { $0.cohort != nil }) {
            guard query.division == nil, query.currency == nil else {
                throw .invalidReport("\(query.name) cannot be divided or converted")
            }
        }
        if query.asKnownAt != nil,
            definitions.contains(where: { $0.cohort?.isOfPresent == true })
        {
            throw .invalidReport(
                "\(query.name) shows what is known now: leave out as_known_at")
        }
        try check(part: query)
        try check(currency: query.currency)
        if let profile = query.profile, query.currency != nil {
            throw .invalidReport("amounts as \(profile.rawValue) counts are not converted")
        }
    }

    /// - Throws: `invalidReport` if the query has a part but no division.
    private static func check(part query: ReportQuery) throws(EngineFailure) {
        guard query.part == nil || query.division != nil else {
            let known = Division.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidReport("part needs segment, which is one of \(known)")
        }
    }

    /// The number of letters of a currency (ISO 4217).
    private static let currencyLetters = 3
    /// The maximum number of currencies that a message names.
    private static let currenciesNamedMax = 50

    /// - Throws: `invalidReport` if the text does not have the form of a currency.
    private static func check(currency: String?) throws(EngineFailure) {
        guard let currency else { return }
        let letters = UInt8(ascii: "A")...UInt8(ascii: "Z")
        let isWord = currency.utf8.allSatisfy { letters.contains($0) }
        guard isWord, currency.utf8.count == currencyLetters else {
            throw .invalidReport("currency must be three capital letters, such as EUR")
        }
    }

    /// - Parameter sums: the sums whose currencies are allowed.
    /// - Throws: `invalidReport`, listing the allowed currencies.
    private static func check(
        currency: String?, occursIn sums: [MovementSum], or rates: ExchangeRates
    ) throws(EngineFailure) {
        guard let currency else { return }
        let known = rates.currencies.union(sums.compactMap(\.currency))
        guard !known.isEmpty, !known.contains(currency) else { return }
        let names = known.sorted()
        let more = names.count > currenciesNamedMax ? ", …" : ""
        throw .invalidReport(
            "the currency \(currency) is not known. Known are those of the table of rates, and "
                + "those that were paid in: "
                + names.prefix(currenciesNamedMax).joined(separator: ", ") + more)
    }

    private func numbers(
        _ definitions: [ReportDefinition], _ filter: MovementFilter, _ periods: [ReportPeriod],
        keepsDays: Bool
    ) async throws(EngineFailure) -> ReportNumbers {
        let days = periods[0].days.lowerBound..<periods[periods.count - 1].days.upperBound
        let (read, completeUntil) = try await scanWithCompleteness(of: filter.app) { tx in
            var numbers = ReportNumbers(fill: try tx.money.progress(of: filter.app))
            if definitions.contains(where: { $0.cohort == nil }) {
                numbers.sums = try tx.sums.movementSums(filter, in: days, keepsDays: keepsDays)
            }
            for cohort in Set(definitions.compactMap(\.cohort)) {
                numbers.cohorts[cohort] = try tx.cohorts.sums(cohort, filter, in: days)
            }
            return numbers
        }
        var numbers = read
        numbers.completeUntil = completeUntil
        guard numbers.sums.count <= SumRows.movementSumsMax else {
            throw .invalidReport("it would need too many sums: ask for fewer days")
        }
        return numbers
    }

    /// - Parameter other: the definition whose columns are shown beside the columns of the first
    ///   definition; nil if there is none.
    private static func report(
        _ definition: ReportDefinition, _ numbers: ReportNumbers, _ query: ReportQuery,
        _ periods: [ReportPeriod], _ app: AppSettings, today: Int64,
        beside other: ReportDefinition?
    ) throws(EngineFailure) -> Report {
        if let cohort = definition.cohort {
            return Report(definition, periods, cohorts: numbers.cohorts[cohort] ?? [])
        }
        try check(currency: query.currency, occursIn: numbers.sums, or: app.money.rates)
        if let currency = query.currency, app.money.rates.isEmpty,
            numbers.sums.contains(where: { $0.currency != nil && $0.currency != currency })
        {
            throw .invalidReport("amounts cannot be converted without a table of rates")
        }
        do throws(Report.TooManyRows) {
            return try Report(
                definition, periods, from: numbers.sums, in: query.currency,
                rates: app.money.rates,
                hasMoney: definition.hasMoney || other?.hasMoney == true, today: today,
                rowsMax: ReportQuery.rowsMax)
        } catch { throw tooManyRows(error.count) }
    }

    private static func tooManyRows(_ count: Int) -> EngineFailure {
        .invalidReport("it would have \(count) rows: ask for fewer days")
    }

    /// Lists the movements, or the purchases, behind a number of a report.
    ///
    /// - Parameter column: the column of the number, which must not be computed from others; nil
    ///   for the first such column.
    package func sources(
        _ query: ReportQuery, column name: String?, of appID: AppID, after cursor: SourceCursor?,
        limit: Int
    ) async throws(EngineFailure) -> ReportSources {
        let (app, _) = try context.app(appID)
        let definition = try Self.definition(query)
        let columns = definition.columns.filter { $0.source != .computed }
        guard let column = name.map({ name in columns.first { $0.name == name } }) ?? columns.first
        else {
            guard !columns.isEmpty else {
                throw .invalidReport("it has no column whose movements can be listed")
            }
            let known = columns.map(\.name).joined(separator: ", ")
            throw .invalidReport("its columns whose movements can be listed are \(known)")
        }
        try Self.check(part: query)
        try Self.check(currency: query.currency)
        let moment = moment(of: query)
        let periods = try query.periods(
            today: app.money.rules.clock.dayNumber(at: moment))
        let filter = MovementFilter(
            app: appID, environment: query.environment, until: moment, currency: query.currency,
            division: query.division, part: query.part, asKnownAt: query.asKnownAt,
            isRestated: query.isRestated)
        let days = periods[0].days.lowerBound..<periods[periods.count - 1].days.upperBound
        var all = filter
        (all.currency, all.division, all.part) = (nil, nil, nil)
        let (found, known) = try await context.scanForReport { [all] tx in
            let found = try tx.reportSources.all(
                filter, column, in: days, after: cursor?.position, limit: limit + 1)
            return (found, found.isEmpty ? try tx.sums.sumsOfAllDays(all) : [])
        }
        if found.isEmpty {
            try Self.check(currency: query.currency, occursIn: known, or: app.money.rates)
        }
        return ReportSources(
            column: column,
            movements: found.prefix(limit).filter {
                !column.value(of: $0.totals, kind: $0.kind).isNothing
            },
            next: found.count > limit
                ? SourceCursor(position: found[limit - 1].position) : nil)
    }

    /// The moment that a report treats as now. Later movements are left out.
    private func moment(of query: ReportQuery) -> Instant {
        let now = context.now()
        return query.asKnownAt.map { min($0, now) } ?? now
    }

    private static func definition(
        _ query: ReportQuery
    ) throws(EngineFailure) -> ReportDefinition {
        let definition =
            query.profile.map { $0.named(query.name) } ?? ReportCatalogue.named(query.name)
        guard let definition else {
            let known = query.profile?.definitions ?? ReportCatalogue.all
            throw .unknownReport(query.name, known: known.map(\.name))
        }
        return definition
    }

    // MARK: - Filling

    /// Derives rows about money, for some purchases at a time, if the rows are missing or were
    /// derived by other rules. Returns how many purchases were examined; 0 if nothing is left.
    /// Idempotent, and safe for several servers at once. If a server is killed, another server
    /// continues.
    package func fillMoney() async throws(EngineFailure) -> Int {
        var count = 0
        for app in context.apps.values.sorted(by: { $0.id < $1.id }) {
            count += try await fillMoney(of: app)
        }
        return count
    }

    private func fillMoney(of app: AppSettings) async throws(EngineFailure) -> Int {
        let fill = try await context.read { tx in try tx.money.progress(of: app.id) }
        guard !Self.isDone(fill, app) else { return 0 }
        let begins = fill?.rules != app.money.rules.fingerprint
        guard !begins || !ruleChecks.isDone(app.id) else {
            // Another server with other rules has begun to derive the rows. If this server began
            // again, neither of the two servers would ever finish.
            warnOfOtherMoneyRules(of: app.id)
            return 0
        }
        let now = context.now()
        let count = try await context.transaction { tx in
            if begins { try tx.money.beginFill(of: app.id) }
            return try MoneyUpdates(tx).continueFill(of: app.id, at: now)
        }
        ruleChecks.markDone(app.id)
        let filled = (fill?.filled ?? 0) + count
        if count > 0 {
            context.logger.info(
                "rows about money are being derived",
                metadata: ["app": "\(app.id)", "purchases": "\(filled)"])
        }
        return count
    }

    /// Logs a warning that another server derives the rows by other rules: once for each
    /// configuration.
    private func warnOfOtherMoneyRules(of app: AppID) {
        guard !ruleWarnings.isDone(app) else { return }
        ruleWarnings.markDone(app)
        context.logger.warning(
            """
            Another server derives rows about money by other settings. This one leaves them as \
            they are: give all servers the same settings, and restart one of them.
            """, metadata: ["app": "\(app)"])
    }

    /// Does a step of the work on the sums of every app: see
    /// ``Storage/Database/addUpMoney(of:changes:purchases:)``.
    package func addUpMoney() async throws(EngineFailure) -> Int {
        var count = 0
        for app in context.apps.keys.sorted() {
            let before = try await context.read { tx in try tx.sums.progress(of: app) }
            do { count += try await context.db.addUpMoney(of: app) } catch {
                throw EngineFailure(error)
            }
            guard before?.isComplete != true else { continue }
            let fill = try await context.read { tx in try tx.sums.progress(of: app) }
            context.logger.info(
                "movements of money are being added up",
                metadata: ["app": "\(app)", "purchases": "\(fill?.filled ?? 0)"])
        }
        return count
    }

    private static func isDone(_ fill: MoneyFill?, _ app: AppSettings) -> Bool {
        fill.map { $0.isComplete && $0.rules == app.money.rules.fingerprint } ?? false
    }
}
