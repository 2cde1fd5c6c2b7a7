import AppStoreClient
import AppStoreFormats
import Crypto
import Ledger
import Storage

// Fetches the App Store's report files. The stored files show which files are missing. So any
// number of servers may fetch files. A server that was down fetches the missed files later.

extension AppleReportService {
    /// The maximum number of past days whose reports are fetched. Apple keeps daily reports for a
    /// year.
    package static let reportDaysMax: Int64 = 60
    /// The maximum number of past fiscal months whose reports are fetched.
    package static let reportMonthsMax = 3
    /// The maximum number of files that one call fetches.
    private static let filesMax = 50
    /// The time for which the answer "no sales" is not final, counted from the expected time of the
    /// report. Apple may have given that answer too early.
    static let doubtMax = Duration.seconds(14 * 86_400)
    /// The interval between requests for the same report while "no sales" is not final: see
    /// ``doubtMax``.
    static let doubtPause = Duration.seconds(86_400)

    private static let dailyKinds: [SalesReportKind] = [
        .sales, .subscription, .subscriptionEvent, .subscriber,
    ]

    /// Fetches and stores the due and missing report files of every app. Returns the number of
    /// reports that were stored or that Apple answered with "no sales"; 0 if no request may be made
    /// now.
    package func fetch() async throws(EngineFailure) -> Int {
        var count = 0
        for app in context.apps.values.sorted(by: { $0.id < $1.id }) {
            guard let outcome = try await fetch(of: app.id) else { continue }
            count += outcome.count
        }
        return count
    }

    /// Fetches the due and missing report files of one app, the oldest first. Returns nil if the
    /// configuration has no key for reports. A file is stored as a whole or not at all. If Apple
    /// refuses a report, the others are fetched nevertheless.
    ///
    /// - Parameters:
    ///   - isPatient: whether to pause after a failure before the same request is repeated.
    ///   - leftOut: reports and files that are not requested, because they failed a moment ago.
    package func fetch(
        of app: AppID, isPatient: Bool = true, besides leftOut: Set<String> = []
    ) async throws(EngineFailure) -> ReportFetchOutcome? {
        guard let source = context.reconciliationSettings.reports(app) else { return nil }
        var outcome = ReportFetchOutcome()
        outcome.leftOut = leftOut
        let now = context.now()
        func isPaused(_ name: String) -> Bool {
            isPatient && reportFetchPauses.isPaused(name, at: now)
        }
        guard !isPaused(app.rawValue) else { return outcome }
        for file in try await missingReports(of: app, source, at: now) {
            guard outcome.count < Self.filesMax else { break }
            guard outcome.leftOut.isDisjoint(with: [file.report, file.name]),
                !isPaused("\(app) \(file.report)"), !isPaused("\(app) \(file.name)")
            else { continue }
            do throws(FetchTrouble) {
                try await fetch(file, of: app, source, into: &outcome)
            } catch {
                report(error, about: file, of: app, in: &outcome, at: now)
                if outcome.isBrokenOff { break }
            }
        }
        return outcome
    }

    /// Writes a failure to the log and to the outcome, and sets the time of the next attempt.
    private func report(
        _ trouble: FetchTrouble, about file: MissingReport, of app: AppID,
        in outcome: inout ReportFetchOutcome, at now: Instant
    ) {
        let subject: String
        switch trouble.scope {
        case .file:
            subject = file.name
            outcome.leftOut.insert(file.name)
            reportFetchPauses.pause(
                "\(app) \(file.name)", until: now + ReportFetchPauses.afterRefusal)
        case .report:
            subject = file.report
            outcome.leftOut.insert(file.report)
            reportFetchPauses.pause(
                "\(app) \(file.report)", until: now + ReportFetchPauses.afterRefusal)
        case .app:
            subject = file.name
            outcome.isBrokenOff = true
            reportFetchPauses.pause(app.rawValue, until: now + ReportFetchPauses.afterFailure)
        }
        outcome.troubles.append("\(subject): \(trouble.sentence)")
        context.logger.error(
            "a report file was not fetched",
            metadata: ["app": "\(app)", "file": "\(subject)", "error": "\(trouble.sentence)"])
    }

    private func fetch(
        _ file: MissingReport, of app: AppID, _ source: ReportFileSource,
        into outcome: inout ReportFetchOutcome
    ) async throws(FetchTrouble) {
        switch try await download(file, of: app, source) {
        case .refused(let refusal): throw FetchTrouble(refusal)
        case .notYet:
            outcome.leftOut.insert(file.name)
            reportFetchPauses.pause(
                "\(app) \(file.name)", until: context.now() + ReportFetchPauses.afterFailure)
        case .noLonger:
            throw FetchTrouble(
                sentence: "Apple no longer has this report, or has it only in another version. "
                    + "Import the file if you have it, or upgrade Perennial.", scope: .file)
        case .noSales:
            try await insert(file.emptyReport(at: context.now()), of: app)
            outcome.empty.append(file.name)
        case .file(let bytes):
            do {
                let content = try source.decompress(bytes)
                let done = try await importFile(content, name: file.name, of: app)
                // The same content may be stored under another name.
                if !done.isKnown { outcome.stored.append(file.name) }
            } catch {
                throw FetchTrouble(
                    sentence: "\(error). The file was not stored.", scope: .file)
            }
            reportFetchPauses.pause(
                "\(app) \(file.name)", until: context.now() + ReportFetchPauses.afterRefusal)
        }
    }

    /// Downloads a report, in the version that Apple serves, if this release can read that version.
    private func download(
        _ file: MissingReport, of app: AppID, _ source: ReportFileSource
    ) async throws(FetchTrouble) -> ReportDownload {
        let name = "\(app) \(file.report)"
        do throws(AppStoreFailure) {
            switch file.request {
            case .finance(let request): return try await source.client.report(request)
            case .sales(let request):
                let known = request.with(version: reportVersions[name] ?? request.version)
                let first = try await source.client.report(known)
                guard case .refused(let refusal) = first, let version = refusal.version,
                    version != known.version, file.kind.canRead(version)
                else { return first }
                let second = try await source.client.report(request.with(version: version))
                guard case .refused = second else {
                    reportVersions[name] = version
                    context.logger.notice(
                        "Apple serves another version of a report",
                        metadata: [
                            "app": "\(app)", "report": "\(file.report)",
                            "version": "\(version)",
                        ])
                    return second
                }
                return second
            }
        } catch { throw FetchTrouble(error) }
    }

    private func insert(_ report: AppleReport, of app: AppID) async throws(FetchTrouble) {
        do throws(EngineFailure) {
            _ = try await context.transaction { tx in try tx.appleReports.insert(report, in: app) }
        } catch { throw FetchTrouble(sentence: "\(error)", scope: .app) }
    }

    // MARK: - What is missing

    private func missingReports(
        of app: AppID, _ source: ReportFileSource, at now: Instant
    ) async throws(EngineFailure) -> [MissingReport] {
        let moment = AppStoreDate(milliseconds: now.milliseconds)
        let today = WallClock.utc.dayNumber(at: now)
        let days = today - Self.reportDaysMax...today
        let stored = try await context.read { tx in
            try tx.appleReports.files(of: app, since: days.lowerBound - 120)
        }
        let byDay = Dictionary(grouping: stored, by: \.days.lowerBound)
        let byName = Dictionary(grouping: stored, by: \.name)
        let financial = stored.filter { $0.kind == SalesReportKind.financial.rawValue }
        var reports = days.flatMap { day in
            Self.dailyKinds.compactMap { MissingReport($0, day, source.vendorNumber, moment) }
        }
        for month in AppleFiscalMonth.months(before: moment, Self.reportMonthsMax) {
            reports += source.regions.compactMap {
                MissingReport(month, $0, source.vendorNumber, moment)
            }
        }
        return reports.filter { report in
            let found =
                (report.kind == .financial ? financial : byDay[report.days.lowerBound] ?? [])
                + (byName[report.name] ?? [])
            return report.isMissing(among: found, source.vendorNumber, at: now)
        }
    }
}

/// A report that Apple should have by now. Possibly it is not stored yet.
private struct MissingReport {
    enum Request {
        case sales(SalesReportRequest)
        case finance(FinanceReportRequest)
    }

    let request: Request
    let kind: SalesReportKind
    let days: ClosedRange<Int64>
    /// When Apple should have the report.
    let expectedAt: Instant
    /// The name under which the report is stored, because Apple sends no name.
    let name: String
    /// The kind of the report: its type and, for a financial report, its region.
    let report: String

    /// Creates the request for a daily report. Returns nil if Apple does not have the report yet.
    init?(_ kind: SalesReportKind, _ day: Int64, _ vendorNumber: String, _ now: AppStoreDate) {
        let date = AppStoreFormats.CivilDate(daysSince1970: day)
        guard
            let request = try? SalesReportRequest(kind, .day(date), vendorNumber: vendorNumber),
            request.isExpected(at: now)
        else { return nil }
        self.request = .sales(request)
        self.kind = kind
        report = kind.rawValue
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
        report = "\(SalesReportKind.financial.rawValue) \(region)"
        expectedAt = Instant(milliseconds: request.expected.milliseconds)
        days = month.first.daysSince1970...month.last.daysSince1970
        name = "\(vendorNumber)_\(month)_\(region).txt.gz"
    }

    /// Whether the report must be fetched. True in three cases: the report is not stored, the
    /// stored report is about another developer, or Apple may have answered "no sales" too early.
    func isMissing(
        among stored: [AppleReportFile], _ vendorNumber: String, at now: Instant
    ) -> Bool {
        let own = stored.filter {
            isAbout($0)
                && (ReportFileName($0.name).vendorNumber ?? vendorNumber) == vendorNumber
        }
        guard !own.contains(where: \.hasContent) else { return false }
        guard let last = own.map(\.importedAt).max() else { return true }
        return now - expectedAt <= AppleReportService.doubtMax
            && now - last >= AppleReportService.doubtPause
    }

    private func isAbout(_ file: AppleReportFile) -> Bool {
        guard file.name != name else { return true }
        guard kind == .financial else { return file.kind == kind.rawValue && file.days == days }
        return file.kind == kind.rawValue && file.days.overlaps(days)
            && ReportFileName(file.name).region == ReportFileName(name).region
    }

    /// The row of a report without a file. The digest of its name identifies it.
    func emptyReport(at now: Instant) -> AppleReport {
        AppleReport(
            kind: kind.rawValue, days: days, digest: Array(SHA256.hash(data: Array(name.utf8))),
            name: name, rowsCount: 0, importedAt: now, content: [])
    }
}

private struct FetchTrouble: Error {
    /// The requests that must wait because of the failure.
    enum Scope {
        case file
        /// All files of the same report.
        case report
        case app
    }

    let sentence: String
    let scope: Scope
}

extension FetchTrouble {
    /// A refused key, a limit and an outage concern every request. Other failures concern only
    /// requests for the same report.
    init(_ failure: AppStoreFailure) {
        sentence = "\(failure) \(failure.remedy)"
        switch failure {
        case .unauthorized, .rateLimited, .unavailable: scope = .app
        case .unknownID, .refused, .unreadable: scope = .report
        }
    }

    init(_ refusal: ReportRefusal) {
        let remedy =
            refusal.version.map {
                "Version \($0) cannot be read: upgrade Perennial, or import the files by hand."
            }
            ?? "Compare vendor_number, regions and the role of the key with App Store Connect."
        sentence = "\(refusal.sentence). \(remedy) Other reports are fetched."
        scope = .report
    }
}

extension AppleFiscalMonth {
    /// The months before the month of a moment, the last first.
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
