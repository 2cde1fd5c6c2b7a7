import AppStoreClient
import Crypto
import Engine
import Foundation
import Ledger
import Storage

/// One pass through a file, batch by batch. Each batch is recorded, together with the position in
/// the file, before the next batch begins. After an interruption, the import continues from the
/// last recorded batch. Rows that are read again change nothing.
struct ImportRun {
    /// The maximum number of rows in a batch.
    static let batchRowsMax = 200
    /// The maximum bytes of the rows in a batch.
    static let batchBytesMax = 8_388_608
    /// The maximum number of rows processed concurrently.
    static let rowsAtOnce = 64
    static let chunkBytes = 65_536
    /// The maximum number of attempts for one row. If all fail, the import stops and can be
    /// continued later.
    static let attemptsMax = 10
    /// The pauses between attempts.
    private static let pauses = ExponentialBackoff(first: .seconds(1), longest: .seconds(60))
    /// The maximum number of times that Apple may ask to wait for one row. These waits have a
    /// separate limit, because other programs use the same rate limit.
    static let restsMax = 200
    /// The file is identified by this number of bytes at its start and at its end.
    private static let markBytes = 1_048_576

    var engine: Engine
    var app: AppID
    var kind: ImportKind
    var file: URL
    var report: URL
    /// The environment of rows that name none.
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
    var progress: @Sendable (_ position: ImportPosition, _ bytesTotal: Int64) -> Void = { _, _ in }
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// Reads the file to its end. Returns the final position, which counts the rows of earlier
    /// runs, and how many usable rows of this run named no customer.
    func run() async throws -> (position: ImportPosition, nameless: Int64) {
        let handle: FileHandle
        do { handle = try FileHandle(forReadingFrom: file) } catch {
            throw StartFailure(
                "\(file.path) cannot be read: \(error.localizedDescription).",
                remedy: "Use a file that this user may read.")
        }
        defer { handle.closeFile() }
        try requireReportApart()
        let total = Int64(try handle.seekToEnd())
        let key = ImportKey(app: app, kind: kind.rawValue, file: try Self.mark(of: handle, total))
        var position = ImportPosition()
        if !isTrial, !isAnew { position = try await engine.imports.position(of: key) ?? position }
        if position.endedAt != nil { return (position, 0) }
        var walk = try BatchReader(handle, kind: kind, environment: environment, from: position)
        if !isWithoutCustomers { try requireCustomers(walk.columns) }
        var nameless: Int64 = 0
        var written = try ImportReport(url: report, keeping: position.reportBytes)
        while let batch = try walk.next() {
            nameless += try await process(batch, walk.columns, &position, &written)
            if !isTrial { try await engine.imports.save(position, of: key) }
            progress(position, total)
        }
        position.endedAt = engine.context.serverTime
        position.reportBytes = written.bytes
        if !isTrial { try await engine.imports.save(position, of: key) }
        try written.close()
        return (position, nameless)
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

    /// Identifies a file by its size and its first and last bytes.
    private static func mark(of handle: FileHandle, _ total: Int64) throws -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Data("\(total)".utf8))
        try handle.seek(toOffset: 0)
        hash.update(data: try handle.read(upToCount: markBytes) ?? Data())
        try handle.seek(toOffset: UInt64(max(0, total - Int64(markBytes))))
        hash.update(data: try handle.read(upToCount: markBytes) ?? Data())
        return Array(hash.finalize())
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

    private func importRow(_ row: ImportRow) async throws -> ImportOutcome {
        switch row.evidence {
        case .receipt(let text):
            try await engine.imports.record(
                receipt: text, of: row.customer, app: app, isTrial: isTrial)
        case .number(let number, let environment):
            try await engine.imports.record(
                transaction: number, of: row.customer, also: row.alias, app: app, in: environment,
                isTrial: isTrial)
        }
    }

    // MARK: - The file

    /// The rows of a file, in batches.
    private struct BatchReader {
        let handle: FileHandle
        let columns: ImportColumns
        var reader: RowReader
        var ready: [RowReader.Row] = []
        var isAtEnd = false

        init(
            _ handle: FileHandle, kind: ImportKind, environment: Ledger.Environment,
            from position: ImportPosition
        ) throws {
            self.handle = handle
            try handle.seek(toOffset: 0)
            let first = Array(try handle.read(upToCount: ImportRun.chunkBytes) ?? Data())
            guard !first.starts(with: [0x1F, 0x8B]) else {
                throw StartFailure(
                    "The file is compressed.", remedy: "Unpack it first: gunzip FILE.")
            }
            let shape = RowReader.Shape(firstBytes: first)
            let header = try Self.header(handle, shape)
            do throws(UnusableRow) {
                columns = try ImportColumns(kind, first: header?.fields, in: environment)
            } catch {
                throw StartFailure(error.reason, remedy: "See docs/import.md for each kind.")
            }
            var (bytes, lines) = (position.bytesRead, position.linesRead)
            if bytes == 0, columns.hasHeader, let header {
                (bytes, lines) = (header.row.bytesRead, header.row.linesRead)
            }
            reader = RowReader(shape, bytesRead: bytes, linesRead: lines)
            try handle.seek(toOffset: UInt64(bytes))
        }

        /// Returns the first row. Nil for JSON and for an empty file.
        private static func header(
            _ handle: FileHandle, _ shape: RowReader.Shape
        ) throws -> (fields: [String], row: RowReader.Row)? {
            guard case .separated = shape else { return nil }
            var reader = RowReader(shape)
            try handle.seek(toOffset: 0)
            while true {
                let chunk = try handle.read(upToCount: ImportRun.chunkBytes) ?? Data()
                let row = chunk.isEmpty ? reader.finish() : reader.add(chunk).first
                if let row {
                    return (try fields(ofFirst: row), row)
                }
                if chunk.isEmpty { return nil }
            }
        }

        private static func fields(ofFirst row: RowReader.Row) throws(StartFailure) -> [String] {
            switch row.content {
            case .fields(let fields): return fields
            case .json, .tooLong: return []
            case .notUTF8:
                throw StartFailure(
                    "The first line is not UTF-8.", remedy: "Convert the file to UTF-8 first.")
            case .unclosedQuote(let line):
                throw StartFailure(
                    "A quote opened in line \(line) is never closed.",
                    remedy: "Close the quote, or remove it.")
            }
        }

        /// Returns the next batch, or nil at the end of the file.
        mutating func next() throws -> [RowReader.Row]? {
            while !isAtEnd, ready.count < ImportRun.batchRowsMax,
                ready.reduce(0, { $0 + $1.weight }) < ImportRun.batchBytesMax
            {
                // Frees Foundation's data immediately instead of at the end of the import.
                let chunk = try autoreleased {
                    Array(try handle.read(upToCount: ImportRun.chunkBytes) ?? Data())
                }
                if chunk.isEmpty {
                    isAtEnd = true
                    if let last = reader.finish() { ready.append(last) }
                } else {
                    ready += reader.add(chunk)
                }
            }
            guard !ready.isEmpty else { return nil }
            let batch = Array(ready.prefix(ImportRun.batchRowsMax))
            ready.removeFirst(batch.count)
            return batch
        }

        private func autoreleased<Value>(_ body: () throws -> Value) rethrows -> Value {
            #if canImport(Darwin)
                try autoreleasepool(invoking: body)
            #else
                try body()
            #endif
        }
    }
}

extension RowReader.Row {
    /// The size of the row's contents, in bytes.
    fileprivate var weight: Int {
        switch content {
        case .fields(let fields): fields.reduce(0) { $0 + $1.utf8.count }
        case .json(let bytes): bytes.count
        case .tooLong, .notUTF8, .unclosedQuote: 0
        }
    }
}
