import BucketClient
import Foundation
import HTTPServer
import Ledger
import Logging
import ServiceLifecycle
import Synchronization

/// Uploads to a bucket whatever the server writes to the folder of its backups: the list of
/// erasures, the files with changes in their order, and the backups.
///
/// Two loops run: one uploads changes within seconds, so that no large backup delays them; the
/// other compares the backups of folder and bucket, and deletes what the bucket need not keep. The
/// folder tells the worker of each file with changes. What was written while the worker did not
/// run, or could not reach the bucket, is found by a comparison. Uploads are idempotent, and an
/// object appears only when it is complete, so the worker can be killed at any time.
final class BucketMirror: Service {
    /// The time between two uploads of changes.
    static let pause = Duration.seconds(1)
    /// The time between two looks at whether a comparison is due.
    private static let comparisonPause = Duration.seconds(5)
    /// The time after which folder and bucket are compared again.
    static let comparedEvery = Duration.hours(1)
    /// Attempts that fail are repeated after growing pauses.
    private static let backoff = ExponentialBackoff(first: pause, longest: .seconds(30))
    /// The maximum number of files with changes that wait in memory. More are found on the disk.
    static let waitingMax = 10_000
    /// The longest time for which changes go on after the former backup while one is uploaded.
    private static let backupWaitMax = Duration.seconds(1_800)
    /// The longest time that the end of the server waits for the last uploads.
    static let lastUploadMax = Duration.seconds(8)

    let client: BucketClient
    let keep: BackupRetention
    let folder: BackupFolder
    private let madeAt: @Sendable () async throws -> Instant
    let now: @Sendable () -> Instant
    private let logger: Logger
    let line = KeyedLock()
    let state: Mutex<State>

    /// How far changes were shipped to the folder.
    struct Shipped: Sendable {
        /// The name of the backup that they follow. Nil if none are shipped at the moment.
        var backup: String?
        /// When everything that was committed had been shipped.
        var at: Instant
    }

    /// What a problem is about.
    enum Subject: Hashable { case changes, backups }

    struct State {
        /// Whether the bucket is known to have the backups of this database.
        var isClaimed = false
        /// The names of the backups in the bucket. Nil before the first comparison.
        var backups: Set<String>?
        /// The names of the backups that are being uploaded.
        var uploading: Set<String> = []
        /// The folder of changes whose files are in the bucket, except those that wait.
        var followed: String?
        /// The names of the files with changes that wait, in their order.
        var waiting: [String] = []
        /// The folders of earlier changes whose files are in the bucket.
        var complete: Set<String> = []
        /// The list of erasures that was uploaded.
        var erasures: ErasureStamp?
        /// The number of comparisons that were demanded, and that of the last one that was made.
        var demanded = 1
        var compared = 0
        var comparedAt: Instant
        /// When everything in the folder had been uploaded.
        var uploadedAt: Instant
        var problems: [Subject: BackupState.Problem] = [:]
        /// Says how far changes were shipped to the folder. Nil if they are not shipped.
        var shipped: (@Sendable () -> Shipped)?
    }

    /// - Parameters:
    ///   - folder: the full path of the folder of the backups.
    ///   - madeAt: returns when the tables of the database were made, which identifies it.
    init(
        to client: BucketClient, of folder: String, keep: BackupRetention,
        madeAt: @escaping @Sendable () async throws -> Instant,
        now: @escaping @Sendable () -> Instant = { .machine }, logger: Logger
    ) {
        self.client = client
        self.folder = BackupFolder(path: folder)
        self.keep = keep
        self.madeAt = madeAt
        self.now = now
        self.logger = logger
        let begun = now()
        state = Mutex(State(comparedAt: begun, uploadedAt: begun))
    }

    /// Uploads until the server stops.
    func run() async {
        await withTaskExecutorPreference(globalConcurrentExecutor) {
            await cancelWhenGracefulShutdown {
                await withTaskGroup(of: Void.self) { tasks in
                    tasks.addTask {
                        await Self.repeats(every: Self.pause) { await self.uploadChanges() }
                    }
                    tasks.addTask {
                        await Self.repeats(every: Self.comparisonPause) {
                            await self.compareIfDue()
                        }
                    }
                }
            }
        }
    }

    private static func repeats(every pause: Duration, _ body: () async -> Bool) async {
        var failures = 0
        repeat {
            failures = await body() ? 0 : failures + 1
            let wait = max(pause, backoff.delay(after: failures))
            guard (try? await Task.sleep(for: wait)) != nil else { return }
        } while !Task.isCancelled
    }

    /// Uploads the last changes, after they were shipped to the folder.
    ///
    /// - Parameter limit: the longest time to wait. What is not uploaded by then is uploaded after
    ///   the next start.
    func uploadRest(within limit: Duration = lastUploadMax) async {
        let isUploaded = await TimeLimit.waits(limit) { _ = await self.uploadChanges() }
        guard !isUploaded else { return }
        logger.warning(
            "the last changes are uploaded to the bucket after the next start",
            metadata: ["reason": "the server of the bucket did not answer in time"])
    }

    // MARK: - What happened

    /// Changes are shipped to the folder, too. Call it before ``run()``.
    ///
    /// - Parameter shipped: says how far.
    func follow(_ shipped: @escaping @Sendable () -> Shipped) {
        state.withLock { $0.shipped = shipped }
    }

    /// How far changes were shipped to the folder. Nil if they are not shipped.
    var shipped: Shipped? { state.withLock { $0.shipped }?() }

    /// How long ago everything had been uploaded.
    var lag: Duration {
        let now = now()
        return state.withLock { max(.zero, now - $0.uploadedAt) }
    }

    /// Why the bucket is behind, and what to do. Nil if it is not.
    var problem: BackupState.Problem? {
        state.withLock { $0.problems[.changes] ?? $0.problems[.backups] }
    }

    /// A file with changes was written to the folder.
    func add(_ path: String) {
        guard path.hasPrefix(folder.path + "/") else { return }
        state.withLock { state in
            state.waiting.append(String(path.dropFirst(folder.path.count + 1)))
            guard state.waiting.count > Self.waitingMax else { return }
            // They are found on the disk: the last folder at once, the others by a comparison.
            (state.waiting, state.followed) = ([], nil)
            state.complete = []
            state.demanded += 1
        }
    }

    /// Folder and bucket may differ.
    func compareSoon() { state.withLock { $0.demanded += 1 } }

    // MARK: - Reports

    /// Runs a body, and reports its failure once. Returns whether it succeeded.
    func reporting(_ subject: Subject, _ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            let wasFailing = state.withLock { $0.problems.removeValue(forKey: subject) != nil }
            if wasFailing { logger.notice("the bucket of the backups can be used again") }
            return true
        } catch {
            // The server stops, or a backup was not waited for.
            guard !Task.isCancelled else { return true }
            report(error, of: subject)
            return false
        }
    }

    private func report(_ error: any Error, of subject: Subject) {
        let failure: StartFailure =
            switch error {
            case let failure as StartFailure: failure
            case let failure as BucketFailure: StartFailure(failure, in: client.access.address)
            default:
                StartFailure(
                    "\(client.access.address) is not up to date: \(error).",
                    remedy: "Check the folder of the backups, and the log.")
            }
        let isNew = state.withLock { state in
            let former = state.problems.updateValue(
                .init(failure.message, remedy: failure.remedy), forKey: subject)
            return former?.message != failure.message
        }
        guard isNew else { return }
        logger.error(
            "the bucket of the backups was not written",
            metadata: ["problem": .string("\(failure.message) \(failure.remedy)")])
    }

    // MARK: - The bucket

    /// Takes the bucket for the backups of this database, and deletes what an upload left that was
    /// interrupted. Nothing is uploaded before.
    ///
    /// - Throws: ``StartFailure`` if the bucket has the backups of another database.
    func claim() async throws {
        await line.lock(at: "claim")
        defer { line.unlock(at: "claim") }
        guard !state.withLock({ $0.isClaimed }) else { return }
        let text = [UInt8](BackupFolder.ownerText(ofDatabaseMade: try await madeAt()).utf8)
        let found = try await client.bytes(of: BackupFolder.ownerName, atMost: 1_000)
        guard found == nil || found == text else {
            throw StartFailure(
                "\(client.access.address) has the backups of another database.",
                remedy: "Name another prefix under `bucket:`. Nothing was changed there.")
        }
        if found == nil {
            try await client.put(text, as: BackupFolder.ownerName)
            logger.notice(
                "the bucket of the backups belongs to this database from now on",
                metadata: ["bucket": "\(client.access.address)"])
        }
        do { _ = try await client.abortUploads(named: BackupFolder.prefix) } catch {
            // Some servers have no list of them, and delete them by themselves after some days.
            guard let failure = error as? BucketFailure, !failure.isPassing else { throw error }
            logger.warning(
                "what is left of interrupted uploads to the bucket was not deleted",
                metadata: ["problem": .string("\(failure) \(failure.remedy)")])
        }
        state.withLock { $0.isClaimed = true }
    }

    /// Uploads a file of the folder. Does nothing if the folder has deleted it meanwhile.
    func upload(_ name: String) async throws {
        let path = "\(folder.path)/\(name)"
        guard Disk.exists(path) else { return }
        try await client.upload(
            .init(bytes: BackupCopy.size(path)) { offset, count in
                try Disk.bytes(of: path, from: offset, count: count)
            }, as: name)
    }

    /// Uploads a new backup before changes follow it: until it is there, the bucket needs those
    /// that follow the former one. A failure is reported; a comparison then uploads the backup.
    ///
    /// - Parameter mayWait: asked once a second whether changes can still go on after the former
    ///   backup.
    func upload(backup path: String, while mayWait: @escaping @Sendable () -> Bool) async {
        let name = URL(fileURLWithPath: path).lastPathComponent
        let isUploaded = await reporting(.backups) {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    try await self.claim()
                    try await self.uploadBackup(name)
                }
                tasks.addTask {
                    let began = ContinuousClock.now
                    while mayWait(), ContinuousClock.now - began < Self.backupWaitMax {
                        try await Task.sleep(for: Self.pause)
                    }
                    throw StartFailure(
                        "\(name) could not be uploaded before changes had to follow it.",
                        remedy: "It is uploaded again. Check how fast the network is.")
                }
                defer { tasks.cancelAll() }
                try await tasks.next()
            }
        }
        if !isUploaded { compareSoon() }
    }

    /// Uploads a backup, unless the other loop does.
    func uploadBackup(_ name: String) async throws {
        guard state.withLock({ $0.uploading.insert(name).inserted }) else { return }
        defer { state.withLock { _ = $0.uploading.remove(name) } }
        let began = ContinuousClock.now
        try await upload(name)
        state.withLock { _ = $0.backups?.insert(name) }
        logger.notice(
            "a backup was uploaded to the bucket",
            metadata: [
                "name": .string(name),
                "seconds": "\((ContinuousClock.now - began).components.seconds)",
            ])
    }
}

extension StartFailure {
    init(_ failure: BucketFailure, in address: BucketAddress) {
        self.init("\(address): \(failure)", remedy: failure.remedy)
    }
}
