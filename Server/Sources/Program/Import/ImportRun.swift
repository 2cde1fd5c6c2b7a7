import Engine
import Foundation
import Ledger
import Storage

/// One pass through a file, batch by batch. Each batch is recorded, together with the position in
/// the file, before the next batch begins. After an interruption, the import continues from the
/// last recorded batch. Rows that are read again change nothing.
struct ImportRun {
    /// The maximum number of rows processed concurrently.
    static let rowsAtOnce = 64
    /// The maximum number of attempts for one row. If all fail, the import stops and can be
    /// continued later.
    static let attemptsMax = 10
    /// The pauses between attempts.
    private static let pauses = ExponentialBackoff(first: .seconds(1), longest: .seconds(60))
    /// The maximum number of times that Apple may ask to wait for one row. These waits have a
    /// separate limit, because other programs use the same rate limit.
    static let restsMax = 200

    var engine: Engine
    var app: AppID
    var kind: ImportKind
    var file: URL
    var report: URL
    /// The environment of rows that do not name one.
    var environment = Ledger.Environment.production
    /// Whether to report only the expected result of each row. A trial sends no requests and makes
    /// no changes.
    var isTrial = false
    /// Whether to start from the beginning, even if the file was imported before.
    var isAnew = false
    /// Whether to accept a file without a customer column. The purchases of such a file get no
    /// owner.
    var isWithoutCustomers = false
    /// A closure that is called after each batch.
    var progress: @Sendable (ImportShare) -> Void = { _ in }
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// Reads the file to its end. Returns the final position, which counts the rows of earlier
    /// runs, and how many usable rows of this run named no customer. That number is nil if an
    /// earlier run has read the file to its end, so that this run did nothing.
    ///
    /// - Throws: ``StartFailure``. For example, the file has no rows. A truncated file also throws,
    ///   but only after its complete rows were processed.
    func run() async throws -> (position: ImportPosition, nameless: Int64?) {
        let source = try ImportSource(file)
        defer { source.close() }
        try requireReportApart()
        let key = ImportKey(app: app, kind: kind.rawValue, file: try source.mark())
        var position = ImportPosition()
        if !isTrial, !isAnew { position = try await engine.imports.position(of: key) ?? position }
        if position.endedAt != nil { return (position, nil) }
        do {
            let nameless = try await process(source, key, &position)
            return (position, nameless)
        } catch let failure as StartFailure where source.isTruncated {
            let lines = position.linesRead.counted("line")
            let done = isTrial ? "checked, and nothing was imported" : "processed"
            throw StartFailure(
                "\(failure.message) The first \(lines) of the text were \(done).",
                remedy: failure.remedy)
        }
    }

    /// Processes the file from a position to its end. Returns how many usable rows named no
    /// customer.
    private func process(
        _ source: ImportSource, _ key: ImportKey, _ position: inout ImportPosition
    ) async throws -> Int64 {
        var walk = try ImportBatches(
            source, kind: kind, environment: environment, from: position)
        if !isWithoutCustomers { try requireCustomers(walk.columns) }
        var nameless: Int64 = 0
        var written = try ImportReport(url: report, keeping: position.reportBytes)
        while let batch = try walk.next() {
            nameless += try await process(batch, walk.columns, &position, &written)
            if !isTrial { try await engine.imports.save(position, of: key) }
            progress(
                ImportShare(
                    position: position, bytesDone: source.storedBytes(at: position.bytesRead),
                    bytesTotal: source.storedBytes))
        }
        guard position.used + position.refused > 0 else {
            try written.close()
            throw StartFailure(
                "\(file.path) has no rows.",
                remedy: "Export it again. Perhaps the export is not complete yet.")
        }
        position.endedAt = engine.context.serverTime
        position.reportBytes = written.bytes
        if !isTrial { try await engine.imports.save(position, of: key) }
        try written.close()
        return nameless
    }

    /// Throws if there is no customer column. Perhaps the column has another name; without it, no
    /// purchase would get an owner.
    private func requireCustomers(_ columns: ImportColumns) throws(StartFailure) {
        let names = columns.namesWithoutCustomer
        guard !names.isEmpty else { return }
        let shown = names.prefix(Self.namesShownMax).map { $0.prefix(Self.nameCharactersMax) }
        throw StartFailure(
            "The first line has no column \(kind.customerColumn). It has: "
                + "\(shown.joined(separator: ", ")).",
            remedy: "Rename the column with your customers' ids. With --without-customers, the "
                + "purchases have no customer until a device posts them.")
    }

    /// How many names of a header a message quotes, and how long they may be.
    private static let namesShownMax = 20
    private static let nameCharactersMax = 40

    /// Throws if the report would overwrite the imported file.
    private func requireReportApart() throws(StartFailure) {
        guard let read = FileStatus(path: file.path), let written = FileStatus(path: report.path),
            read.isSameFile(as: written)
        else { return }
        throw StartFailure(
            "\(report.path) is the import file itself.",
            remedy: "Name another file for the report with --report.")
    }

    // MARK: - One batch

    /// Processes a batch. Returns how many of the usable rows named no customer.
    private func process(
        _ batch: [RowReader.Row], _ columns: ImportColumns, _ position: inout ImportPosition,
        _ report: inout ImportReport
    ) async throws -> Int64 {
        let outcomes = try await outcomes(of: batch, columns)
        var refused: [(line: Int64, customer: String?, reason: String)] = []
        for (row, outcome) in zip(batch, outcomes) {
            if let reason = outcome.reason {
                refused.append((row.line, outcome.customer, reason))
            } else {
                position.used += 1
            }
        }
        try report.add(refused)
        position.refused += Int64(refused.count)
        position.reportBytes = report.bytes
        position.bytesRead = batch.last?.bytesRead ?? position.bytesRead
        position.linesRead = batch.last?.linesRead ?? position.linesRead
        return Int64(outcomes.count { $0.reason == nil && $0.customer == nil })
    }

    private struct Outcome: Sendable {
        var customer: String?
        /// The reason why the row could not be used. Nil if it was usable.
        var reason: String?
    }

    /// Processes rows concurrently, except that rows with the same evidence are processed one after
    /// the other. So the first customer in the file gets the purchase.
    private func outcomes(
        of batch: [RowReader.Row], _ columns: ImportColumns
    ) async throws -> [Outcome] {
        var outcomes = [Outcome](repeating: Outcome(), count: batch.count)
        var understood: [(index: Int, row: ImportRow)] = []
        for (index, row) in batch.enumerated() {
            do throws(UnusableRow) {
                understood.append((index, try columns.row(row.content)))
            } catch { outcomes[index] = Outcome(customer: nil, reason: error.reason) }
        }
        let groups = Dictionary(grouping: understood, by: \.row.evidence).values
        return try await withThrowingTaskGroup(of: [(Int, Outcome)].self) { tasks in
            for (place, group) in groups.enumerated() {
                if place >= Self.rowsAtOnce, let done = try await tasks.next() {
                    for (index, outcome) in done { outcomes[index] = outcome }
                }
                tasks.addTask { try await self.outcomes(of: group) }
            }
            for try await done in tasks {
                for (index, outcome) in done { outcomes[index] = outcome }
            }
            return outcomes
        }
    }

    private func outcomes(
        of rows: [(index: Int, row: ImportRow)]
    ) async throws -> [(Int, Outcome)] {
        var outcomes: [(Int, Outcome)] = []
        for (index, row) in rows { outcomes.append((index, try await outcome(of: row))) }
        return outcomes
    }

    private func outcome(of row: ImportRow) async throws -> Outcome {
        let customer = row.customer?.rawValue
        var (attempts, rests) = (0, 0)
        while true {
            switch try await importRow(row) {
            case .recorded: return Outcome(customer: customer, reason: nil)
            case .unusable(let reason): return Outcome(customer: customer, reason: reason)
            case .unauthorized(let reason):
                throw StartFailure(
                    "\(reason)", remedy: "Then run the same command again. It continues from here.")
            case .retryLater(let until?, let reason):
                rests += 1
                if rests >= Self.restsMax { throw Self.noResponse(rests, reason) }
                try await sleep(max(until - engine.context.serverTime, .zero))
            case .retryLater(nil, let reason):
                attempts += 1
                if attempts >= Self.attemptsMax { throw Self.noResponse(attempts, reason) }
                try await sleep(Self.pauses.delay(after: attempts))
            }
        }
    }

    private static func noResponse(_ times: Int, _ reason: String) -> StartFailure {
        StartFailure(
            "The App Store did not respond \(times.counted("time")): \(reason)",
            remedy: "Run the same command again later. It continues from here.")
    }

    /// Records the evidence of a row, then its details. A row whose evidence is used but whose
    /// details are not accepted is reported, too.
    private func importRow(_ row: ImportRow) async throws -> ImportOutcome {
        let outcome = try await importEvidence(of: row)
        guard outcome == .recorded else { return outcome }
        let details = try await engine.imports.record(
            row.details, of: row.customer, also: row.alias, row.evidence.purchase, app: app,
            isTrial: isTrial)
        guard let defect = row.defects.first else {
            return details.prefixed("the rest of the row was used, but ")
        }
        return .unusable("the rest of the row was used, but \(defect)")
    }

    private func importEvidence(of row: ImportRow) async throws -> ImportOutcome {
        switch row.evidence {
        case .receipt(let text):
            return try await engine.imports.record(
                receipt: text, of: row.customer, app: app, isTrial: isTrial)
        case .number(let number, let environment):
            return try await engine.imports.record(
                transaction: number, of: row.customer, also: row.alias, app: app, in: environment,
                isTrial: isTrial)
        case .grant(let grant, let environment):
            guard let customer = row.customer else {
                return .unusable("a grant without a customer")
            }
            return try await engine.imports.record(
                grant: grant, of: customer, also: row.alias, app: app, in: environment,
                isTrial: isTrial)
        }
    }
}

/// How far an import has come.
struct ImportShare: Sendable {
    var position: ImportPosition
    /// The number of bytes of the stored file that were read.
    var bytesDone: Int64
    var bytesTotal: Int64
}

extension ImportRow.Evidence {
    /// The purchase that the row names. Nil if it names none.
    fileprivate var purchase: PurchaseID? {
        guard case .number(let number, let environment) = self else { return nil }
        return PurchaseID(TransactionID(rawValue: number), in: environment)
    }
}

extension ImportOutcome {
    /// The outcome with a text before its reason, if the row could not be used.
    fileprivate func prefixed(_ text: String) -> ImportOutcome {
        if case .unusable(let reason) = self { .unusable(text + reason) } else { self }
    }
}
