import Foundation
import HTTPServer
import Ledger
import Logging
import ServiceLifecycle
import Storage
import StorageSQLite
import Synchronization

/// Ships the changes of a SQLite database to the folder of its backups once a second, so that the
/// state of any second can be restored.
///
/// Shipping does not slow writers down, because the worker reads the write-ahead log, which writers
/// append to anyway. SQLite would restart the log after its frames were moved into the database
/// file. So only this worker moves frames, and only after it has shipped them. Frames may still be
/// missing, for example because another program has moved them, or because the disk of the backups
/// was full for too long. Then the worker stops shipping, reports the gap, and begins again after
/// another backup.
final class ChangeShipper: Service {
    static let pause = Duration.seconds(1)
    /// When the log has this number of frames, the frames are moved into the database file. This is
    /// SQLite's own default.
    static let movedFrames = 1_000
    /// The size of the log, in bytes, at which the worker gives up shipping it. Otherwise the log
    /// would fill the disk of the database.
    static let logBytesMax: Int64 = 1_073_741_824
    /// The worker also gives up if fewer bytes than this are free on the disk of the database. For
    /// a disk of less than 2.5 GiB, the limit is a tenth of its size.
    static let freeBytesMin: Int64 = 268_435_456
    /// The maximum number of files that are shipped without a pause. Further files follow after the
    /// pause.
    private static let filesAtOnceMax = 100
    /// The maximum time for which the server's shutdown waits for the last changes to be shipped.
    /// The limit matters if the disk of the backups does not respond.
    static let lastShipMax = Duration.seconds(8)

    private let writer: ChangeWriter
    let driver: SQLiteDriver
    let log: WriteAheadLog
    let now: @Sendable () -> Instant
    let logger: Logger
    private let logBytesMax: Int64
    private let disk: @Sendable () -> DiskSpace?
    private let shipped: @Sendable (String) -> Void
    let line = KeyedLock()
    let state: Mutex<State>

    struct State {
        var chain: ShippedChain?
        /// Whether the number of the chain's next file is known to be free.
        var isNumbered = false
        /// Whether a backup is being made. Nothing may be moved out of the log during that time.
        var isCopying = false
        /// The changes that were moved out of the log before they were shipped.
        var moved: Moved?
        var pauses: GapPauses
        /// Why ``ShippedChain`` could not be saved in its file. Nil if it is saved.
        var unsaved: String?
        /// The last moment at which all committed changes were shipped.
        var shippedAt: Instant
        /// Why the last attempt failed.
        var problem: BackupState.Problem?
    }

    /// Changes that come after the place of the chain, and that may no longer be in the log.
    struct Moved: Sendable {
        var changes: WriteAheadLog.Changes
        /// The identity of the database file, if the file contains all changes up to the last of
        /// the moved changes. Nil otherwise.
        var file: ShippedChain.DatabaseFile?
    }

    /// A gap: the changes in the log do not follow the changes that were shipped last.
    struct Gap: Error { var reason: String }

    /// - Parameters:
    ///   - folder: the full path of the folder of the backups.
    ///   - database: the path of the database, which the driver has opened.
    ///   - log: the log of the database; with other limits in tests.
    ///   - logBytesMax: see ``logBytesMax``; smaller in tests.
    ///   - disk: returns the space of the disk of the database; nil for the real one.
    ///   - shipped: called with the path of each file that was shipped.
    init(
        _ settings: BackupSettings, in folder: String, of database: String, by driver: SQLiteDriver,
        now: @escaping @Sendable () -> Instant = { .machine }, logger: Logger,
        log: WriteAheadLog? = nil, logBytesMax: Int64 = logBytesMax,
        disk: (@Sendable () -> DiskSpace?)? = nil,
        shipped: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        writer = ChangeWriter(
            folder: folder, database: database, recipients: settings.recipients)
        self.driver = driver
        self.log = log ?? WriteAheadLog(of: Disk.resolvedName(database))
        self.now = now
        self.logger = logger
        self.logBytesMax = logBytesMax
        self.shipped = shipped
        self.disk = disk ?? { DatabaseDisk.space(for: database) }
        let (chain, begun) = (ShippedChain(of: database), now())
        state = Mutex(
            State(
                chain: chain, pauses: GapPauses(shippingSince: chain.map { _ in begun }),
                shippedAt: begun))
    }

    /// Ships until the server stops. An attempt that hangs does not keep the server from stopping.
    /// ``shipRest(within:)`` ships the last changes.
    func run() async {
        let shipping = Task(executorPreference: globalConcurrentExecutor) {
            while (try? await Task.sleep(for: Self.pause)) != nil { await self.ship() }
        }
        try? await gracefulShutdown()
        shipping.cancel()
    }

    /// Ships all committed changes. Call this function after the last writer has ended, and before
    /// the database is closed.
    ///
    /// - Parameter limit: the longest time to wait; shorter in tests. Changes that are not shipped
    ///   by then stay in the log, and are shipped after the next start.
    func shipRest(within limit: Duration = lastShipMax) async {
        let isShipped = await TimeLimit.waits(limit) { await self.ship() }
        guard !isShipped else { return }
        logger.warning(
            "the last changes of the database are shipped after the next start",
            metadata: ["reason": "the disk of the backups did not answer"])
    }

    /// When everything that was committed had been shipped.
    var shippedAt: Instant { state.withLock { $0.shippedAt } }

    /// The name of the backup that the changes follow. Nil if none are shipped.
    var backup: String? { state.withLock { $0.chain?.backup } }

    /// Whether the log may grow further while nothing is moved out of it. Leaves twice the room
    /// that shipping needs.
    var hasRoomInLog: Bool {
        let bytes = log.bytes
        guard bytes > smallLogBytes, let disk = disk() else { return bytes < logBytesMax / 2 }
        return bytes < logBytesMax / 2
            && disk.freeBytes >= 2 * min(Self.freeBytesMin, disk.bytes / 10)
    }

    /// The time since the last moment at which all committed changes were shipped.
    var lag: Duration {
        let now = now()
        return state.withLock { max(.zero, now - $0.shippedAt) }
    }

    /// Why changes are not shipped, and what to do. Nil if they are shipped.
    var problem: BackupState.Problem? { state.withLock { $0.problem } }

    /// Whether changes can be shipped only after another backup.
    var needsBackup: Bool {
        state.withLock { ($0.chain?.number ?? .max) > ChangeFolder.filesMax }
    }

    /// Whether to make the backup that shipping needs now. After repeated gaps, the backup is
    /// delayed: see ``GapPauses``.
    var wantsBackup: Bool {
        guard needsBackup else { return false }
        let now = now()
        return state.withLock { $0.pauses.areOver(at: now) }
    }

    /// Ships all committed changes. A failure is reported once, and never stops the server.
    func ship() async {
        await line.lock()
        defer { line.unlock() }
        let began = now()
        // If the clock was set back, the lag is measured from now.
        state.withLock { $0.shippedAt = min($0.shippedAt, began) }
        do {
            guard state.withLock({ $0.chain != nil }) else { return try await moveUnshipped() }
            try await shipAll(asOf: began)
            try requireSaved()
            reportSuccess()
        } catch let gap as Gap {
            abandon(gap)
        } catch {
            guard !Task.isCancelled else { return }
            let isRepeated = problem != nil
            report(error)
            if isRepeated, let reason = reasonToGiveUp { abandon(Gap(reason: reason)) }
        }
    }

    // MARK: - Reports

    private func report(_ error: any Error) {
        let failure =
            error as? StartFailure
            ?? StartFailure(
                "The changes of the database cannot be shipped: \(error).",
                remedy: "Check the folder of the backups and its disk.")
        let isNew = state.withLock { state in
            defer { state.problem = .init(failure.message, remedy: failure.remedy) }
            return state.problem == nil
        }
        guard isNew else { return }
        logger.error(
            "the changes of the database were not shipped",
            metadata: ["problem": .string("\(failure.message) \(failure.remedy)")])
    }

    func reportSuccess() {
        let wasFailing = state.withLock { state in
            defer { state.problem = nil }
            return state.problem != nil
        }
        if wasFailing { logger.notice("the changes of the database are shipped again") }
    }

    func abandon(_ gap: Gap) {
        let now = now()
        state.withLock { state in
            state.pauses.add(at: now)
            (state.chain, state.moved, state.unsaved) = (nil, nil, nil)
            state.problem = .init(
                "The changes of the database are not shipped: \(gap.reason).",
                remedy:
                    "The server makes another backup, and then ships changes again. If this "
                    + "repeats, the server waits for up to an hour: remove the cause.")
        }
        do { try ShippedChain.write(nil, of: writer.database) } catch {
            // This does no harm: after a restart, the same gap is found again.
            logger.warning(
                "the state of shipping could not be written to the file beside the database",
                metadata: ["problem": "\(error)"])
        }
        logger.error(
            "no changes of the database are shipped until another backup is made",
            metadata: ["reason": .string(gap.reason)])
    }

    // MARK: - Shipping

    func shipAll(asOf began: Instant) async throws {
        try prepareChain()
        try await shipMoved()
        for _ in 0..<Self.filesAtOnceMax {
            if try await shipSome() { continue }
            state.withLock { $0.shippedAt = began }
            guard !state.withLock({ $0.isCopying }) else { return }
            return try await moveFrames()
        }
    }

    private func prepareChain() throws {
        guard var chain = state.withLock({ $0.chain }) else { return }
        if let reason = try writer.obstacle(for: chain) { throw Gap(reason: reason) }
        guard !state.withLock({ $0.isNumbered }) else { return }
        chain.number = try writer.nextNumber(in: chain)
        state.withLock { ($0.chain, $0.isNumbered) = (chain, true) }
    }

    /// Ships one file of changes. Returns whether there are more.
    private func shipSome() async throws -> Bool {
        guard let chain = state.withLock({ $0.chain }) else { return false }
        let changes = try changes(after: chain)
        guard !changes.pages.isEmpty else { return false }
        try await ship(changes, after: chain)
        return changes.hasMore
    }

    func changes(after chain: ShippedChain) throws -> WriteAheadLog.Changes {
        let found: WriteAheadLog.Changes?
        do throws(StorageFailure) {
            found = try log.changes(after: chain.place)
        } catch {
            guard error.kind == .other else { throw error }
            throw Gap(reason: "\(error)")
        }
        guard let found else { throw Gap(reason: "the write-ahead log is missing") }
        guard
            found.end.salts == chain.place.salts
                || isUnchanged(chain) && found.end.count == chain.place.count &+ 1
        else { throw Gap(reason: "another program has moved what is in the write-ahead log") }
        return found
    }

    /// Why a log that cannot be shipped must be given up. Nil if the log can wait for another
    /// attempt. A small log is never given up for lack of space, because it does not fill the disk.
    private var reasonToGiveUp: String? {
        let bytes = log.bytes
        // During a backup, the log stays as it is. If only the state of shipping cannot be saved,
        // frames are moved as usual.
        guard !state.withLock({ $0.isCopying || $0.unsaved != nil }) else { return nil }
        guard bytes <= logBytesMax else {
            return "the write-ahead log has reached \(logBytesMax >> 20) MiB"
        }
        guard bytes > smallLogBytes, let disk = disk(),
            disk.freeBytes < min(Self.freeBytesMin, disk.bytes / 10)
        else { return nil }
        return "the disk of the database has only \(disk.freeBytes >> 20) MiB free, and the "
            + "write-ahead log would fill it"
    }

    /// Whether no more frames were moved into the database file after all changes before the
    /// chain's place had been moved.
    private func isUnchanged(_ chain: ShippedChain) -> Bool {
        chain.isMoved && chain.moved == ShippedChain.DatabaseFile(of: writer.database)
    }

    func ship(
        _ changes: WriteAheadLog.Changes, after chain: ShippedChain,
        moved: ShippedChain.DatabaseFile? = nil
    ) async throws {
        let segment = ChangeSegment(moment: now(), from: chain.place, changes: changes)
        shipped(try await writer.write(segment, after: chain))
        var next = chain
        next.number += 1
        (next.place, next.moved) = (changes.end, moved)
        state.withLock { $0.moved = nil }
        save(next)
    }

    /// Saves the state of shipping. A failure does not stop the worker, because without the worker
    /// the log would grow. If the server is killed before the file is written, changes are shipped
    /// twice, or another backup is made.
    private func save(_ chain: ShippedChain) {
        state.withLock { $0.chain = chain }
        var failure: String?
        do { try ShippedChain.write(chain, of: writer.database) } catch { failure = "\(error)" }
        state.withLock { $0.unsaved = failure }
    }

    private func requireSaved() throws(StartFailure) {
        let (chain, unsaved) = state.withLock { ($0.chain, $0.unsaved) }
        guard unsaved != nil, let chain else { return }
        save(chain)
        guard let failure = state.withLock({ $0.unsaved }) else { return }
        throw StartFailure(
            "The changes are shipped, but the state of shipping cannot be written to "
                + "\(ShippedChain.path(of: writer.database)): \(failure).",
            remedy: "Make room on the disk of the database, and let the server write its folder.")
    }

    // MARK: - The log

    /// Moves the frames of the log into the database file if there are enough of them. Changes that
    /// were committed since the last shipment are read first, while no writer can write, and are
    /// shipped afterwards.
    private func moveFrames() async throws {
        guard let chain = state.withLock({ $0.chain }), !chain.isMoved,
            chain.place.frames >= Self.movedFrames
        else { return }
        let outcome = try await driver.checkpoint { [log] in
            let rest = try log.changes(after: chain.place)
            // Nothing is moved if the rest is too much to be read at once, or if the log has been
            // restarted.
            let isRest = rest?.hasMore == false && rest?.end.salts == chain.place.salts
            return isRest ? rest : nil
        }
        guard let (rest, frames, moved) = outcome else { return }
        let isWhole = frames == moved && Int64(rest.end.frames) == frames
        let file = isWhole ? ShippedChain.DatabaseFile(of: writer.database) : nil
        guard rest.pages.isEmpty else {
            state.withLock { $0.moved = Moved(changes: rest, file: file) }
            return try await shipMoved()
        }
        guard let file else { return }
        var next = chain
        next.moved = file
        save(next)
    }

    /// Ships the changes that were moved out of the log. They stay in memory until they are
    /// shipped.
    private func shipMoved() async throws {
        let (chain, moved) = state.withLock { ($0.chain, $0.moved) }
        guard let chain, let moved else { return }
        try await ship(moved.changes, after: chain, moved: moved.file)
    }

    /// When the log has at least this size, in bytes, its frames are moved into the database file.
    private var smallLogBytes: Int64 { Int64(Self.movedFrames * SQLiteDriver.pageBytes) }

    /// Moves the frames of the log without shipping them. Nothing is lost, because there is no
    /// backup to which these changes could be applied.
    private func moveUnshipped() async throws {
        guard !state.withLock({ $0.isCopying }),
            log.bytes > smallLogBytes
        else { return }
        _ = try await driver.checkpoint { true }
    }
}
