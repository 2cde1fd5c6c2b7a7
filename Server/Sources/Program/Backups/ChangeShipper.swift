import Foundation
import Ledger
import Logging
import ServiceLifecycle
import Storage
import StorageSQLite
import Synchronization

/// Ships the changes of a SQLite database to the folder of its backups once a second, so that the
/// state of any second can be restored.
///
/// Writers do not notice it: it reads the write-ahead log, which they write anyway. So that the log
/// is not begun again before its frames were shipped, only this worker moves them into the database
/// file, between two writes, as SQLite would. If frames may be missing nevertheless, for example
/// because another program has moved them, or the disk of the backups was full for too long, the
/// worker stops, says so, and waits for another backup, after which it ships again.
final class ChangeShipper: Service {
    static let pause = Duration.seconds(1)
    /// The number of frames in the log from which they are moved into the database file. It is
    /// SQLite's own default.
    static let movedFrames = 1_000
    /// The size of the log at which the worker gives up shipping it, in bytes: otherwise it would
    /// fill the disk of the database.
    static let logBytesMax: Int64 = 1_073_741_824

    private let recipients: [String]
    private let folder: String
    private let database: String
    private let driver: SQLiteDriver
    private let log: WriteAheadLog
    private let now: @Sendable () -> Instant
    private let logger: Logger
    private let logBytesMax: Int64
    private let line = KeyedLock()
    private let state: Mutex<State>

    private struct State {
        var chain: ShippedChain?
        /// Whether a backup is being made, during which nothing may be moved out of the log.
        var isCopying = false
        /// When everything that was committed had been shipped.
        var shippedAt: Instant
        var isFailing = false
    }

    /// The changes cannot be continued.
    private struct Gap: Error { var reason: String }

    /// - Parameters:
    ///   - folder: the full path of the folder of the backups.
    ///   - database: the path of the database, which the driver has opened.
    init(
        _ settings: BackupSettings, in folder: String, of database: String, by driver: SQLiteDriver,
        now: @escaping @Sendable () -> Instant = { .machine }, logger: Logger,
        logBytesMax: Int64 = logBytesMax
    ) {
        recipients = settings.recipients
        self.folder = folder
        self.database = database
        self.driver = driver
        log = WriteAheadLog(of: Disk.resolvedName(database))
        self.now = now
        self.logger = logger
        self.logBytesMax = logBytesMax
        state = Mutex(State(chain: ShippedChain(of: database), shippedAt: now()))
    }

    func run() async {
        await withTaskExecutorPreference(globalConcurrentExecutor) {
            await cancelWhenGracefulShutdown {
                while (try? await Task.sleep(for: Self.pause)) != nil { await self.ship() }
            }
            await self.ship()
        }
    }

    /// How long ago everything that was committed had been shipped.
    var lag: Duration {
        let now = now()
        return state.withLock { max(.zero, now - $0.shippedAt) }
    }

    /// Whether changes can be shipped only after another backup.
    var needsBackup: Bool {
        state.withLock { ($0.chain?.number ?? .max) > ChangeFolder.filesMax }
    }

    /// Ships what was committed. A failure is reported once, and never stops the server.
    func ship() async {
        await line.lock()
        defer { line.unlock() }
        do {
            try await shipAll()
            state.withLock { $0.isFailing = false }
        } catch let gap as Gap {
            abandon(gap)
        } catch {
            guard !Task.isCancelled, !state.withLock({ $0.isFailing }) else { return }
            state.withLock { $0.isFailing = true }
            logger.error(
                "the changes of the database were not shipped",
                metadata: ["problem": "\(error)"])
        }
    }

    private func abandon(_ gap: Gap) {
        state.withLock { ($0.chain, $0.isFailing) = (nil, false) }
        try? ShippedChain.write(nil, of: database)
        logger.error(
            "the changes of the database are shipped again after another backup",
            metadata: ["reason": .string(gap.reason)])
    }

    private func shipAll() async throws {
        let began = now()
        let isCopying = state.withLock { $0.isCopying }
        guard state.withLock({ $0.chain != nil }) else {
            guard !isCopying else { return }
            if log.bytes > Int64(Self.movedFrames * SQLiteDriver.pageBytes) {
                _ = try await driver.checkpoint {}
            }
            return
        }
        do {
            while try await shipSome() {}
        } catch let failure as StorageFailure { throw Gap(reason: "\(failure)") }
        state.withLock { $0.shippedAt = began }
        guard !isCopying else { return }
        try await moveFrames()
    }

    /// Ships one file of changes. Returns whether there are more.
    private func shipSome() async throws -> Bool {
        guard let chain = state.withLock({ $0.chain }) else { return false }
        guard !isLogTooLarge else {
            throw Gap(reason: "the write-ahead log has reached \(logBytesMax >> 20) MiB")
        }
        guard let changes = try log.changes(after: chain.place) else {
            throw Gap(reason: "the write-ahead log is missing")
        }
        return try await ship(changes, after: chain)
    }

    private var isLogTooLarge: Bool {
        log.bytes > logBytesMax && state.withLock { !$0.isCopying && $0.isFailing }
    }

    private func ship(
        _ changes: WriteAheadLog.Changes, after chain: ShippedChain, evenIfEmpty: Bool = false
    ) async throws -> Bool {
        if changes.end.salts != chain.place.salts {
            guard chain.isMoved, changes.end.count == chain.place.count &+ 1 else {
                throw Gap(reason: "another program has moved what is in the write-ahead log")
            }
        }
        guard evenIfEmpty || !changes.pages.isEmpty else { return false }
        let segment = ChangeSegment(moment: now(), from: chain.place, changes: changes)
        let backup = "\(folder)/\(chain.backup)"
        try await write(segment, to: ChangeFolder(of: backup), number: chain.number)
        var next = chain
        next.number += 1
        (next.place, next.isMoved) = (changes.end, false)
        try save(next)
        return changes.hasMore
    }

    private func save(_ chain: ShippedChain) throws {
        state.withLock { $0.chain = chain }
        try ShippedChain.write(chain, of: database)
    }

    /// Moves what is in the log into the database file, if that is worth it. What was committed
    /// meanwhile is read between two writes, and shipped afterwards.
    private func moveFrames() async throws {
        guard let chain = state.withLock({ $0.chain }), !chain.isMoved,
            chain.place.frames >= Self.movedFrames
        else { return }
        let (rest, frames, moved) = try await driver.checkpoint { [log] in
            try log.changes(after: chain.place)
        }
        if let rest { _ = try await ship(rest, after: chain) }
        guard var next = state.withLock({ $0.chain }) else { return }
        next.isMoved = frames == moved && Int64(next.place.frames) == frames
        if next.isMoved { try save(next) }
    }
}

// MARK: - Backups

extension ChangeShipper {
    /// Makes a backup after which changes are shipped. Changes are shipped after the former backup
    /// until it is complete.
    ///
    /// - Parameter make: makes a backup that has the pages of the database with their numbers, and
    ///   returns its path.
    func backUp<Value: Sendable>(
        _ make: () async throws -> (file: String, Value)
    ) async throws -> (file: String, Value) {
        let former = try await beginCopy()
        do {
            let made = try await make()
            try await completeCopy(of: made.file, after: former)
            return made
        } catch {
            state.withLock { $0.isCopying = false }
            throw error
        }
    }

    /// Returns a chain that ends where the log ends now.
    private func beginCopy() async throws -> ShippedChain {
        await line.lock()
        defer { line.unlock() }
        if state.withLock({ $0.chain != nil }) {
            do { try await shipAll() } catch let gap as Gap { abandon(gap) }
        }
        state.withLock { $0.isCopying = true }
        if let chain = state.withLock({ $0.chain }) { return chain }
        do {
            if try log.start() == nil { try await writeSomething() }
            guard let end = try log.changes(after: nil, collecting: false)?.end else {
                throw StorageFailure("the write-ahead log is missing")
            }
            return ShippedChain(backup: "", number: 0, place: end, isMoved: false)
        } catch {
            state.withLock { $0.isCopying = false }
            throw error
        }
    }

    /// Begins the write-ahead log, by a transaction that changes a row and changes it back: SQLite
    /// does not write a page whose content stays the same.
    private func writeSomething() async throws {
        try await driver.write { connection in
            for change in ["+ 1", "- 1"] {
                _ = try connection.run(
                    "UPDATE schema_versions SET applied_at_ms = applied_at_ms \(change)", [])
            }
        }
    }

    private func completeCopy(of file: String, after former: ShippedChain) async throws {
        await line.lock()
        defer { line.unlock() }
        state.withLock { $0.isCopying = false }
        var chain = former
        (chain.backup, chain.number) = (URL(fileURLWithPath: file).lastPathComponent, 1)
        guard let changes = try log.changes(after: chain.place) else {
            throw Gap(reason: "the write-ahead log is missing")
        }
        let began = now()
        _ = try await ship(changes, after: chain, evenIfEmpty: true)
        while try await shipSome() {}
        state.withLock { $0.shippedAt = began }
        logger.notice(
            "the changes of the database are shipped after this backup",
            metadata: ["file": .string(file)])
    }

    // MARK: - Files

    private func write(
        _ segment: ChangeSegment, to folder: ChangeFolder, number: Int
    ) async throws {
        let data = segment.data
        if !Disk.exists(folder.path) {
            try FileManager.default.createDirectory(
                atPath: folder.path, withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
            try Disk.syncFolder(of: folder.path)
        }
        try requireRoom(for: Int64(data.count), in: folder.path)
        let file = folder.file(number, at: segment.moment)
        guard recipients.isEmpty else {
            return try await encrypt(data, into: file + EncryptedBackup.suffix)
        }
        try Self.complete(file) { part in
            try data.write(to: URL(fileURLWithPath: part))
        }
    }

    private func requireRoom(for bytes: Int64, in folder: String) throws(StartFailure) {
        let needed = bytes + BackupFolder.freeBytesMin
        guard let free = Disk.freeBytes(at: folder), free < needed else { return }
        throw StartFailure(
            "The disk of \(folder) has \(free >> 20) MiB free, and the changes need "
                + "\(needed >> 20) MiB.",
            remedy: "Make room there, or keep fewer backups (`keep:`).")
    }

    /// The plain text lies beside the database for a moment, whose disk has it anyway.
    private func encrypt(_ data: Data, into file: String) async throws {
        let plain = EncryptedBackup.plainChanges(of: database)
        unlink(plain)
        try Disk.make(plain)
        defer { unlink(plain) }
        try data.write(to: URL(fileURLWithPath: plain))
        let age = try AgeProgram()
        let part = file + BackupCopy.partSuffix
        unlink(part)
        try Disk.make(part)
        do {
            try await age.encrypt(plain, into: part, for: recipients)
            try Disk.sync(part)
            try Disk.renameExclusively(part, file)
            try Disk.syncFolder(of: file)
        } catch {
            unlink(part)
            throw error
        }
    }

    /// Makes a file that has its name only when it is complete and on the disk.
    private static func complete(_ file: String, _ body: (String) throws -> Void) throws {
        let part = file + BackupCopy.partSuffix
        unlink(part)
        try Disk.make(part)
        do {
            try body(part)
            try Disk.sync(part)
            try Disk.renameExclusively(part, file)
            try Disk.syncFolder(of: file)
        } catch {
            unlink(part)
            throw error
        }
    }
}
