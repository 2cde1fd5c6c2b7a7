internal import Foundation
internal import PerennialContract

/// All entries that the server has not acknowledged yet: documents, debits and aliases. The entries
/// are in a file to which lines are appended. A call that writes a line returns when the line is on
/// the disk, so an entry is saved before it is sent.
///
/// One process is the writer: the first process that opens the file, until that process ends. Other
/// processes only read the entries that existed when they opened the file. To become the writer
/// later, a process opens the file again.
actor Outbox {
    static let fileName = "outbox-1"
    static let lockName = "outbox-1.lock"
    /// The maximum size of the file in bytes. When the file is full, new documents are refused:
    /// they stay unfinished in StoreKit, which returns them again.
    static let bytesMax = 4_194_304
    /// The number of bytes that new documents and debits leave free, so that changes of the
    /// existing entries can be written.
    static let reservedBytes = 262_144
    /// The size in bytes up to which the file is not compacted.
    static let compactedFromBytes = 65_536
    /// The factor by which the file must be larger than its waiting entries to be compacted.
    private static let compactionFactor = 3
    /// The time in milliseconds after which an entry that was set apart is sent again.
    static let setApartInterval: Int64 = 86_400_000

    nonisolated let isWriter: Bool
    private let path: String
    /// The writer's lock on the file, held while this value lives. Nil for a reader.
    private var lock: FileLock?
    /// The file, open for appending. Nil for a reader, and before the first line.
    private var file: Int32?
    private var fileBytes = 0
    private var live: [String: Waiting] = [:]
    private var nextNumber = 0

    private struct Waiting {
        var entry: OutboxEntry
        /// The position of the entry in the order of arrival.
        var number: Int
        /// The size of the entry's line in a compacted file.
        var bytes: Int
    }

    /// Opens the file. The folder must exist.
    ///
    /// Throws if the system does not allow reading the file now, for example before the first
    /// unlock. The caller tries again later.
    /// - Parameter mayWrite: false for an extension, which leaves writing to the app.
    init(folder: DeviceFolder, mayWrite: Bool = true) throws(FileFailure) {
        path = folder.path(Self.fileName)
        lock = mayWrite ? try FileLock(folder.path(Self.lockName)) : nil
        isWriter = lock != nil
        // A file of an earlier version, which had a larger limit, can also be read.
        let bytes = try FileBytes.read(path, bytesMax: 2 * Self.bytesMax) ?? []
        let (lines, isClean) = OutboxLine.lines(in: bytes)
        fileBytes = bytes.count
        for line in lines { Self.apply(line, to: &live, &nextNumber) }
        if isWriter, !isClean {
            fileBytes = try Self.rewrite(path, with: Self.inOrder(live))
        }
    }

    deinit { if let file { Self.close(file) } }

    private static func close(_ file: Int32) {
        #if canImport(Darwin)
            Darwin.close(file)
        #else
            Glibc.close(file)
        #endif
    }

    /// Releases the file to the next writer. After that, this object writes nothing.
    func close() {
        closeFile()
        lock = nil
    }

    /// All entries in the order of arrival.
    var entries: [OutboxEntry] { Self.inOrder(live).map(\.entry) }

    subscript(_ id: String) -> OutboxEntry? { live[id]?.entry }

    /// The entries that may be sent at a moment, in the order of arrival. Entries that were set
    /// apart come last.
    func due(at now: Timestamp) -> [OutboxEntry] {
        let due = entries.filter { $0.isDue(at: now) }
        return due.filter { $0.state == .waiting } + due.filter { $0.state != .waiting }
    }

    /// The sum of the waiting debits from one customer's wallet.
    func waitingDebits(from wallet: String, of customerID: String) -> Int64 {
        live.values.reduce(0) { sum, waiting in
            guard case .debit(let debit) = waiting.entry.content, debit.wallet == wallet,
                waiting.entry.customerID == customerID, waiting.entry.state == .waiting
            else { return sum }
            return sum.addingReportingOverflow(debit.amount).partialValue
        }
    }

    enum Addition: Hashable, Sendable {
        case added
        /// The entry already waits.
        case present
        /// There is no room. The entry was not written.
        case full
    }

    /// Saves entries. When the call returns, the entries survive the end of the process.
    ///
    /// Idempotent by ``OutboxEntry/id``. If a document already waits and is added again because the
    /// customer has bought or has asked for a restore, the document gets the new intent and is due
    /// at once.
    /// - Returns: the result for each entry, in the same order.
    func add(_ entries: [OutboxEntry]) throws(FileFailure) -> [Addition] {
        guard isWriter else { throw .notWriter }
        var additions: [Addition] = []
        var lines: [OutboxLine] = []
        var bytes = liveBytes
        var seen: Set<String> = []
        for entry in entries {
            let id = entry.id
            let kept = live[id]?.entry
            guard seen.insert(id).inserted, kept == nil || kept?.urged(by: entry) != nil else {
                additions.append(.present)
                continue
            }
            let line = OutboxLine.added(kept?.urged(by: entry) ?? entry)
            bytes += line.fileSize
            if kept == nil, bytes > entry.bytesMax {
                bytes -= line.fileSize
                additions.append(.full)
                continue
            }
            lines.append(line)
            additions.append(kept == nil ? .added : .present)
        }
        try write(lines)
        return additions
    }

    /// Records that entries were sent without an answer that settles them. A record that cannot be
    /// written still counts until the process ends.
    ///
    /// - Parameter nextTry: when the entries are due again.
    func postpone(_ ids: [String], until nextTry: Timestamp) throws(FileFailure) {
        for id in ids { live[id]?.entry.nextTry = nextTry }
        try write(
            ids.compactMap { id in
                live[id].map {
                    .tried(
                        id: id, attempts: $0.entry.attempts + 1, nextTry: nextTry,
                        state: $0.entry.state)
                }
            })
    }

    /// Records that the server refused an entry. The entry is sent again a day later. A record that
    /// cannot be written still counts until the process ends.
    ///
    /// - Parameter code: the code of the problem.
    func setApart(_ id: String, code: String, at now: Timestamp) throws(FileFailure) {
        guard let entry = live[id]?.entry else { return }
        let next = Timestamp(milliseconds: now.milliseconds + Self.setApartInterval)
        live[id]?.entry.nextTry = next
        live[id]?.entry.state = .setApart(code: code)
        try write([
            .tried(
                id: id, attempts: entry.attempts + 1, nextTry: next, state: .setApart(code: code))
        ])
    }

    /// Marks every waiting entry as due now, for example when the app comes to the foreground.
    /// Entries that were set apart are not affected. The change is not written: after a launch, the
    /// times in the file count again.
    func hurry() {
        for (id, waiting) in live where waiting.entry.state == .waiting {
            live[id]?.entry.nextTry = nil
        }
    }

    /// Removes entries that the server has acknowledged. Idempotent.
    func complete(_ ids: [String]) throws(FileFailure) {
        try write(ids.filter { live[$0] != nil }.map(OutboxLine.done(id:)))
    }
}

// MARK: - The file

extension Outbox {
    /// Appends lines, and makes sure that they are on the disk. Either all lines count or no line.
    private func write(_ lines: [OutboxLine]) throws(FileFailure) {
        guard isWriter, lock != nil else { throw .notWriter }
        guard !lines.isEmpty else { return }
        var after = live
        var number = nextNumber
        for line in lines { Self.apply(line, to: &after, &number) }
        let bytes = lines.flatMap(\.fileBytes)
        if Self.isMostlyDone(fileBytes + bytes.count, live: after) {
            closeFile()
            fileBytes = try Self.rewrite(path, with: Self.inOrder(after))
        } else {
            try append(bytes)
        }
        live = after
        nextNumber = number
    }

    private func append(_ bytes: [UInt8]) throws(FileFailure) {
        let file = try openFile()
        do throws(FileFailure) {
            try FileBytes.write(bytes, to: file)
            guard fsync(file) == 0 else { throw .last("fsync") }
        } catch {
            // Removes a part that was written. If this call fails, too, a reader skips the part.
            ftruncate(file, off_t(fileBytes))
            throw error
        }
        fileBytes += bytes.count
    }

    private func openFile() throws(FileFailure) -> Int32 {
        if let file { return file }
        let opened = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, FileBytes.fileMode)
        guard opened >= 0 else { throw .last("open") }
        file = opened
        try FileBytes.synchronizeFolder(of: path)
        return opened
    }

    private func closeFile() {
        if let file { Self.close(file) }
        file = nil
    }

    private var liveBytes: Int { live.values.reduce(0) { $0 + $1.bytes } }

    private static func isMostlyDone(_ fileBytes: Int, live: [String: Waiting]) -> Bool {
        guard fileBytes > compactedFromBytes else { return false }
        let liveBytes = live.values.reduce(0) { $0 + $1.bytes }
        return fileBytes > bytesMax || fileBytes > compactionFactor * liveBytes
    }

    /// Replaces the file by a file with only these entries. Returns the size of the new file in
    /// bytes.
    private static func rewrite(
        _ path: String, with entries: [Waiting]
    ) throws(FileFailure) -> Int {
        let bytes = entries.flatMap { OutboxLine.added($0.entry).fileBytes }
        try FileBytes.replace(path, with: bytes)
        return bytes.count
    }

    private static func inOrder(_ live: [String: Waiting]) -> [Waiting] {
        live.values.sorted { $0.number < $1.number }
    }

    /// Applies a line. A line about an unknown entry changes nothing.
    private static func apply(
        _ line: OutboxLine, to live: inout [String: Waiting], _ nextNumber: inout Int
    ) {
        switch line {
        case .added(let entry):
            let id = entry.id
            let number = live[id]?.number ?? nextNumber
            nextNumber += 1
            live[id] = Waiting(entry: entry, number: number, bytes: line.fileSize)
        case .tried(let id, let attempts, let nextTry, let state):
            live[id]?.entry.attempts = attempts
            live[id]?.entry.nextTry = nextTry
            live[id]?.entry.state = state
        case .done(let id): live[id] = nil
        }
    }
}

extension OutboxEntry {
    /// The maximum size of the file in bytes at which this entry may be added. Log-ins may use the
    /// reserved bytes, because StoreKit returns documents again, but not log-ins.
    fileprivate var bytesMax: Int {
        if case .alias = content { return Outbox.bytesMax }
        return Outbox.bytesMax - Outbox.reservedBytes
    }

    /// This entry with the intent of a later entry, and due at once. Nil if the app found the later
    /// document without a request by the customer: such a document is not urgent.
    fileprivate func urged(by later: OutboxEntry) -> OutboxEntry? {
        guard case .document(var document) = content, case .document(let again) = later.content,
            again.intent != document.intent, again.intent != .sync
        else { return nil }
        var entry = self
        document.intent = again.intent
        entry.content = .document(document)
        entry.nextTry = nil
        return entry
    }
}
