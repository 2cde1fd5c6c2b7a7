import AppStoreClient
import AppStoreFormats
import Crypto
import Ledger
import Storage

// Fetching the App Store's report files. Which files are missing follows from those that are
// stored, so any number of servers may fetch, and one that was down catches up.

extension Engine {
    /// The days that are fetched afterwards at most. Apple keeps daily reports for a year.
    package static let reportDaysMax: Int64 = 60
    /// The fiscal months that are fetched afterwards at most.
    package static let reportMonthsMax = 3
    /// Files that one call fetches at most.
    private static let filesMax = 50
    /// For so long after Apple should have a report, "no sales" is not final: it may have been said
    /// too early.
    static let doubtMax = Duration.seconds(14 * 86_400)
    /// Until then, the same is asked again after this time.
    static let doubtPause = Duration.seconds(86_400)

    private static let dailyKinds: [SalesReportKind] = [
        .sales, .subscription, .subscriptionEvent, .subscriber,
    ]

    /// Fetches report files that are due and missing, of every app, and stores them. Returns how
    /// many were settled; 0 if nothing is left that may be tried now.
    package func fetchReports() async throws(EngineFailure) -> Int {
        var count = 0
        for app in apps.values.sorted(by: { $0.id < $1.id }) {
            guard let outcome = try await fetchReports(of: app.id) else { continue }
            count += outcome.count
        }
        return count
    }

    /// Fetches the report files of one app that are due and missing, the oldest first. Returns nil
    /// if the configuration has no key for reports. A file is stored as a whole or not at all.
    ///
    /// - Parameter isPatient: whether to wait after failures before the same is tried again.
    package func fetchReports(
        of app: AppID, isPatient: Bool = true
    ) async throws(EngineFailure) -> ReportFetchOutcome? {
        guard let source = reconciliation.reports(app) else { return nil }
        var outcome = ReportFetchOutcome()
        let now = now()
        guard !isPatient || !reportFetchPauses.isPaused(app.rawValue, at: now) else {
            return outcome
        }
        let missing = try await missingReports(of: app, source, at: now)
        for file in missing {
            let name = "\(app) \(file.name)"
            guard outcome.count < Self.filesMax else { break }
            guard !isPatient || !reportFetchPauses.isPaused(name, at: now) else { continue }
            do throws(FetchTrouble) {
                try await fetch(file, of: app, source, into: &outcome)
            } catch {
                outcome.troubles.append("\(file.name): \(error.sentence)")
                logger.error(
                    "a report file was not fetched",
                    metadata: [
                        "app": "\(app)", "file": "\(file.name)", "error": "\(error.sentence)",
                    ])
                if error.isAboutFile {
                    reportFetchPauses.pause(name, until: now + ReportFetchPauses.afterRefusal)
                } else {
                    reportFetchPauses.pause(
                        app.rawValue, until: now + ReportFetchPauses.afterFailure)
                    break
                }
            }
        }
        return outcome
    }

    private func fetch(
        _ file: MissingReport, of app: AppID, _ source: ReportFileSource,
        into outcome: inout ReportFetchOutcome
    ) async throws(FetchTrouble) {
        let download: ReportDownload
        do throws(AppStoreFailure) {
            switch file.request {
            case .sales(let request): download = try await source.client.report(request)
            case .finance(let request): download = try await source.client.report(request)
            }
        } catch {
            throw FetchTrouble(sentence: "\(error) \(error.remedy)", isAboutFile: false)
        }
        switch download {
        case .notYet:
            reportFetchPauses.pause(
                "\(app) \(file.name)", until: now() + ReportFetchPauses.afterFailure)
        case .noLonger:
            throw FetchTrouble(
                sentence: "Apple no longer has this report, or not in this version. Import the "
                    + "file if you have it, or upgrade Perennial.", isAboutFile: true)
        case .noSales:
            try await insert(file.emptyReport(at: now()), of: app)
            outcome.empty.append(file.name)
        case .file(let bytes):
            do {
                let content = try source.decompress(bytes)
                let done = try await importAppleReport(content, name: file.name, of: app)
                // The same content may be there under another name.
                if !done.isKnown { outcome.stored.append(file.name) }
            } catch {
                throw FetchTrouble(
                    sentence: "\(error). Nothing of it was stored.", isAboutFile: true)
            }
            reportFetchPauses.pause(
                "\(app) \(file.name)", until: now() + ReportFetchPauses.afterRefusal)
        }
    }

    private func insert(_ report: AppleReport, of app: AppID) async throws(FetchTrouble) {
        do throws(EngineFailure) {
            _ = try await transaction { tx in try tx.insert(report, in: app) }
        } catch { throw FetchTrouble(sentence: "\(error)", isAboutFile: false) }
    }

    // MARK: - What is missing

    private func missingReports(
        of app: AppID, _ source: ReportFileSource, at now: Instant
    ) async throws(EngineFailure) -> [MissingReport] {
        let moment = AppStoreDate(milliseconds: now.milliseconds)
        let today = WallClock.utc.dayNumber(at: now)
        let days = today - Self.reportDaysMax...today
        let stored = try await read { tx in
            try tx.appleReportFiles(of: app, since: days.lowerBound - 120)
        }
        let byDay = Dictionary(grouping: stored, by: \.days.lowerBound)
        let byName = Dictionary(grouping: stored, by: \.name)
        var reports = days.flatMap { day in
            Self.dailyKinds.compactMap { MissingReport($0, day, source.vendorNumber, moment) }
        }
        for month in AppleFiscalMonth.months(before: moment, Self.reportMonthsMax) {
            reports += source.regions.compactMap {
                MissingReport(month, $0, source.vendorNumber, moment)
            }
        }
        return reports.filter { report in
            let found = (byDay[report.days.lowerBound] ?? []) + (byName[report.name] ?? [])
            return report.isMissing(among: found, source.vendorNumber, at: now)
        }
    }
}

/// A report that Apple should have, and that is not stored.
private struct MissingReport {
    enum Request {
        case sales(SalesReportRequest)
        case finance(FinanceReportRequest)
    }

    let request: Request
    let kind: SalesReportKind
    let days: ClosedRange<Int64>
    /// When Apple should have it.
    let expectedAt: Instant
    /// As it is stored: Apple sends no name.
    let name: String

    /// Returns nil if Apple does not have it at this moment.
    init?(_ kind: SalesReportKind, _ day: Int64, _ vendorNumber: String, _ now: AppStoreDate) {
        let date = AppStoreFormats.CivilDate(daysSince1970: day)
        guard
            let request = try? SalesReportRequest(kind, .day(date), vendorNumber: vendorNumber),
            request.isExpected(at: now)
        else { return nil }
        self.request = .sales(request)
        self.kind = kind
        days = day...day
        expectedAt = Instant(milliseconds: request.expected.milliseconds)
        let word = kind == .sales ? "S" : kind.rawValue
        let digits = request.period.text.filter { $0 != "-" }
        name = "\(word)_D_\(vendorNumber)_\(digits).txt.gz"
    }

    init?(
        _ month: AppleFiscalMonth, _ region: String, _ vendorNumber: String, _ now: AppStoreDate
    ) {
        guard
            let request = try? FinanceReportRequest(
                month, regionCode: region, vendorNumber: vendorNumber), request.isExpected(at: now)
        else { return nil }
        self.request = .finance(request)
        kind = .financial
        expectedAt = Instant(milliseconds: request.expected.milliseconds)
        days = month.first.daysSince1970...month.last.daysSince1970
        name = "\(vendorNumber)_\(month)_\(region).txt.gz"
    }

    /// Whether it is to be fetched: if it is not stored, or if it is of another developer, or if
    /// Apple said that nothing was sold, and may have said it too early.
    func isMissing(
        among stored: [AppleReportFile], _ vendorNumber: String, at now: Instant
    ) -> Bool {
        let own = stored.filter {
            isAbout($0)
                && (ReportFileName($0.name).vendorNumber ?? vendorNumber) == vendorNumber
        }
        guard !own.contains(where: \.hasContent) else { return false }
        guard let last = own.map(\.importedAt).max() else { return true }
        return now - expectedAt <= Engine.doubtMax && now - last >= Engine.doubtPause
    }

    private func isAbout(_ file: AppleReportFile) -> Bool {
        guard file.name != name else { return true }
        return file.kind == kind.rawValue && file.days == days
            && (kind != .financial
                || ReportFileName(file.name).regionKey == ReportFileName(name).regionKey)
    }

    /// The row of a report without a file, which is identified by its name.
    func emptyReport(at now: Instant) -> AppleReport {
        AppleReport(
            kind: kind.rawValue, days: days, digest: Array(SHA256.hash(data: Array(name.utf8))),
            name: name, rowsCount: 0, importedAt: now, content: [])
    }
}

private struct FetchTrouble: Error {
    let sentence: String
    /// Whether other files may be fetched all the same.
    let isAboutFile: Bool
}

extension AppleFiscalMonth {
    /// The months before the one of a moment, the last first.
    fileprivate static func months(before now: AppStoreDate, _ count: Int) -> [Self] {
        let day = now.milliseconds / 86_400_000
        var months: [Self] = []
        var month = Self(containing: AppStoreFormats.CivilDate(daysSince1970: day))
        while months.count < count, let present = month {
            let before = AppStoreFormats.CivilDate(
                daysSince1970: present.first.daysSince1970 - 1)
            month = Self(containing: before)
            if let month { months.append(month) }
        }
        return months
    }
}
