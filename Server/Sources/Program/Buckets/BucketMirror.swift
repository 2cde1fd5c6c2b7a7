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
    static let backupWaitMax = Duration.seconds(1_800)
    /// The longest time that the end of the server waits for the last uploads.
    static let lastUploadMax = Duration.seconds(8)

    let client: BucketClient
    let keep: BackupRetention
    let folder: BackupFolder
    private let owner: BucketOwner
    /// The list of erasures beside the backups, and that of the server.
    let erasureFiles: [String]
    let now: @Sendable () -> Instant
    let logger: Logger
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
        /// Whether this server is known to be the one that uploads to the bucket.
        var isClaimed = false
        /// Whether what interrupted uploads have left was deleted.
        var isSwept = false
        /// The names of the backups in the bucket. Nil before the first comparison.
        var backups: Set<String>?
        /// The uploads of new backups, by their names.
        var uploads: [String: Task<Void, Never>] = [:]
        /// The folder of changes whose files are in the bucket, except those that wait.
        var followed: String?
        /// The names of the files with changes that wait, in their order.
        var waiting: [String] = []
        /// How often more files waited than fit into memory.
        var overflows = 0
        /// The folders of earlier changes whose files are in the bucket.
        var complete: Set<String> = []
        /// The lists of erasures that were uploaded. Nil if that is unknown.
        var erasures: [ErasureStamp?]?
        /// The number of comparisons that were demanded, and that of the last one that was made.
        var demanded = 1
        var compared = 0
        var comparedAt: Instant
        /// When everything in the folder had been uploaded.
        var uploadedAt: Instant
        var problems: [Subject: BackupState.Problem] = [:]
        /// Says how far changes were shipped to the folder. Nil if they are not shipped.
        var shipped: (@Sendable () -> Shipped)?
        /// Ends the shipping of changes after a backup.
        var abandon: (@Sendable (_ backup: String) async -> Void)?
    }

    /// - Parameters:
    ///   - owner: the bucket, and the database.
    ///   - folder: the full path of the folder of the backups.
    ///   - erasures: the path of the server's list of erasures. Nil if only the folder has one.
    init(
        to owner: BucketOwner, of folder: String, erasures: String? = nil, keep: BackupRetention,
        now: @escaping @Sendable () -> Instant = { .machine }, logger: Logger
    ) {
        self.owner = owner
        client = owner.client
        erasureFiles = ["\(folder)/\(ErasureFile.copyName)"] + [erasures].compactMap(\.self)
        self.folder = BackupFolder(path: folder)
        self.keep = keep
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
        for upload in state.withLock({ $0.uploads.values }) { upload.cancel() }
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
    /// - Parameters:
    ///   - shipped: says how far.
    ///   - abandon: called with the name of a backup after which no more changes may be shipped.
    func follow(
        _ shipped: @escaping @Sendable () -> Shipped,
        abandon: @escaping @Sendable (_ backup: String) async -> Void
    ) {
        state.withLock { ($0.shipped, $0.abandon) = (shipped, abandon) }
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
            state.overflows += 1
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

    func report(_ error: any Error, of subject: Subject) {
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

    /// Takes the bucket for this server, and deletes what an upload left that was interrupted.
    /// Nothing is uploaded before.
    ///
    /// - Parameter again: whether to ask the bucket although it was this server's before.
    /// - Throws: ``StartFailure`` if the bucket has the backups of another database or server.
    func claim(again: Bool = false) async throws {
        await line.lock(at: "claim")
        defer { line.unlock(at: "claim") }
        if again { state.withLock { $0.isClaimed = false } }
        guard !state.withLock({ $0.isClaimed }) else { return }
        if try await owner.claim() {
            logger.notice(
                "the bucket of the backups belongs to this server from now on",
                metadata: ["bucket": "\(client.access.address)"])
        }
        try await sweep()
        state.withLock { $0.isClaimed = true }
    }

    /// Deletes what interrupted uploads have left, before the first upload of this process.
    private func sweep() async throws {
        guard !state.withLock({ $0.isSwept }) else { return }
        do {
            _ = try await client.abortUploads(
                named: BackupFolder.prefix, where: BucketPlan.isFile)
        } catch {
            // Some servers have no list of them, and delete them by themselves after some days.
            guard let failure = error as? BucketFailure, !failure.isPassing else { throw error }
            logger.warning(
                "what is left of interrupted uploads to the bucket was not deleted",
                metadata: ["problem": .string("\(failure) \(failure.remedy)")])
        }
        state.withLock { $0.isSwept = true }
    }

    /// Uploads a file of the folder, after the list of erasures: a person who is erased must not
    /// come back with it. Returns false if the folder has deleted the file meanwhile.
    @discardableResult
    func upload(_ name: String) async throws -> Bool {
        try await uploadErasures()
        let path = "\(folder.path)/\(name)"
        guard Disk.exists(path) else { return false }
        try await client.upload(
            .init(bytes: BackupCopy.size(path)) { offset, count in
                try Disk.bytes(of: path, from: offset, count: count)
            }, as: name)
        return true
    }
}

extension StartFailure {
    init(_ failure: BucketFailure, in address: BucketAddress) {
        self.init("\(address): \(failure)", remedy: failure.remedy)
    }
}
