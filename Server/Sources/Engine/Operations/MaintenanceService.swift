import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage

/// The result of a rebuild.
package struct RebuildReport: Hashable, Sendable {
    package var documents: Int
    /// The number of rows that differ from the rows that the documents imply.
    package var differences: Int
    package var firstDifferences: [String]
    /// The documents that no longer give facts, each with the reason.
    package var unusable: [String]

    package var isClean: Bool { differences == 0 && unusable.isEmpty }
}

/// Work on all data: rebuilds, the impact of a new configuration, partitions, and statistics.
package struct MaintenanceService: Sendable {
    let context: Context
    let verification: VerificationService

    /// The number of documents read, verified and projected at a time.
    private static let rebuildBatch = 500
    /// The maximum number of unusable documents named in the report.
    private static let unusableMax = 20

    /// The maximum number of extra passes over documents that arrive during the rebuild. After
    /// these passes, the existing facts of the remaining documents are copied.
    private static let extraPassesMax = 10
    /// The maximum difference between the clocks of servers, plus the time that a document may wait
    /// before it is recorded.
    private static let arrivalMax = Duration.seconds(600)

    /// The maximum number of attempts of the transaction that finishes a rebuild. Each attempt
    /// waits for locks. Its maximum wait is the same as that of a write. Another operation, such as
    /// VACUUM, may lock a table for longer.
    package static let endingAttemptsMax = 10
    /// The pauses between these attempts. During a pause, the writers that waited for the attempt
    /// to end can proceed.
    private static let endingPauses = ExponentialBackoff(first: .seconds(1), longest: .seconds(10))

    /// Rebuilds all derived rows from the documents, or only compares them.
    ///
    /// Every document is verified again, as of the time it was received, because a fact always
    /// needs a verified document. The current rows stay in use until all new rows exist. Then one
    /// transaction replaces the current rows. Documents that arrive meanwhile are included. If new
    /// documents keep arriving, the existing facts of the last documents are copied and not derived
    /// again.
    ///
    /// - Parameter withoutUnusable: whether to continue even if documents that are in use can no
    ///   longer be verified, for example under another configuration. The facts of such documents
    ///   are then lost.
    /// - Parameter sleep: called between attempts to lock the tables.
    /// - Throws: ``EngineFailure``. It is `storage` if documents in use can no longer be verified
    ///   and `withoutUnusable` is false, or if another rebuild is running. It is `busy` if other
    ///   operations lock the tables all the time. If the function throws, nothing is changed.
    package func rebuild(
        verifyOnly: Bool, withoutUnusable: Bool = false,
        progress: @Sendable (_ done: Int, _ of: Int) -> Void = { _, _ in },
        sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) async throws(EngineFailure) -> RebuildReport {
        let since = context.now() - Self.arrivalMax
        try await context.transaction { tx in try tx.rebuild.begin() }
        var walk = RebuildProgress(verifiesOnly: verifyOnly)
        while true {
            try await rebuildAll(&walk, progress)
            let seen = walk
            let found = try await finishRebuild(
                seen, verifyOnly: verifyOnly, withoutUnusable: withoutUnusable, sleep)
            if let found {
                walk.report.differences = found.count + walk.unappliedUnclaims
                walk.report.firstDifferences = found.first
                if walk.unappliedUnclaims > 0 {
                    let ids = walk.unappliedUnclaims.counted("id")
                    walk.report.firstDifferences.append("unclaimed seats: \(ids) not recorded")
                }
                return walk.report
            }
            // Documents that arrived during the pass come after its position, even if they were
            // signed later.
            walk.extraPasses += 1
            if walk.extraPasses > Self.extraPassesMax { walk.copiesArrivedSince = since }
        }
    }

    private func rebuildAll(
        _ walk: inout RebuildProgress, _ progress: @Sendable (Int, Int) -> Void
    ) async throws(EngineFailure) {
        let (apps, total) = try await context.read { tx in
            (try tx.documents.apps(), try tx.documents.count())
        }
        for app in apps {
            while true {
                if Task.isCancelled { throw .storage("The rebuild was cancelled.") }
                let from = walk.positions[app] ?? .start
                let documents = try await context.read { tx in
                    try tx.documents.all(of: app, after: from, limit: Self.rebuildBatch)
                }
                guard let last = documents.last else { break }
                walk.positions[app] = DocumentPosition(after: last)
                try await rebuild(documents, into: &walk)
                progress(walk.report.documents, total)
            }
        }
    }

    private func rebuild(
        _ documents: [StoredDocument], into walk: inout RebuildProgress
    ) async throws(EngineFailure) {
        var pairs: [(facts: [Fact], document: StoredDocument)] = []
        var unclaims: [(unclaim: SeatUnclaim, document: StoredDocument)] = []
        for document in documents {
            walk.report.documents += 1
            do {
                let attestation = try await verification.verify(again: document)
                pairs.append((attestation.facts, document))
                if let unclaim = attestation.seatUnclaim { unclaims.append((unclaim, document)) }
            } catch {
                guard walk.report.unusable.count < Self.unusableMax else { continue }
                walk.report.unusable.append("\(DocumentID(bytes: document.id)): \(error)")
            }
        }
        let rebuilt = pairs
        walk.facts += try await context.transaction { tx in
            try rebuilt.reduce(0) { $0 + (try tx.rebuild.add($1.facts, from: $1.document)) }
        }
        walk.unappliedUnclaims += try await apply(unclaims, verifyOnly: walk.verifiesOnly)
    }

    /// If documents report ends of claims that the tables lack, applies these ends. For example, an
    /// earlier version of Perennial may have recorded such a document without knowing its meaning.
    /// Returns the number of ids that were not recorded.
    private func apply(
        _ unclaims: [(unclaim: SeatUnclaim, document: StoredDocument)], verifyOnly: Bool
    ) async throws(EngineFailure) -> Int {
        guard !unclaims.isEmpty else { return 0 }
        let now = context.now()
        return try await context.transaction { tx in
            try unclaims.reduce(0) { count, each in
                let (id, app) = (each.document.id, each.document.app)
                let new = try tx.seatUnclaims.unrecordedCount(of: each.unclaim, from: id, in: app)
                if new > 0, !verifyOnly {
                    try SeatUpdates(tx).record(each.unclaim, from: id, in: app, at: now)
                }
                return count + new
            }
        }
    }
}

extension RecordingService {
    /// Records documents of another database, in the given order. Each document is verified again,
    /// as of the time when the other database received it, and keeps its id. Idempotent.
    package func record(_ documents: [StoredDocument]) async throws(EngineFailure) {
        for document in documents {
            var attestation = try await verification.verify(again: document)
            attestation.document.id = document.id
            let recorded = attestation.documentWithFacts
            do {
                _ = try await context.db.record(recorded, by: DocumentRecorder.recorder)
            } catch {
                throw EngineFailure(error)
            }
        }
    }
}

extension MaintenanceService {
    /// Compares the rebuilt rows with the rows in use, or replaces the rows in use. Returns nil if
    /// there are documents that the pass has not read.
    private func finishRebuild(
        _ walk: RebuildProgress, verifyOnly: Bool, withoutUnusable: Bool,
        _ sleep: @Sendable (Duration) async throws -> Void
    ) async throws(EngineFailure) -> Differences? {
        let now = context.now()
        let outcome: Result<RebuildOutcome, EngineFailure> = try await untilFree(sleep) { tx in
            try tx.rebuild.blockWriters()
            var taken = 0
            if try tx.documents.count() != walk.report.documents {
                guard let since = walk.copiesArrivedSince else { return .success(.incomplete) }
                taken = try tx.rebuild.copyFacts(ofArrivedSince: since)
            }
            guard try tx.rebuild.rebuiltCount() == walk.facts + taken else {
                return .failure(.storage("another rebuild has run meanwhile"))
            }
            if !verifyOnly, !withoutUnusable, walk.mayLose {
                let count = try tx.rebuild.documentsLeftWithoutFacts()
                guard count == 0 else {
                    return .success(.aborted(.storage(walk.reason(losing: count))))
                }
            }
            let differences = try tx.rebuild.differences() + tx.consistency.logDifferences()
            if !verifyOnly { try RebuildUpdates(tx).swapRebuilt(at: now) }
            return .success(.done(differences))
        }
        let ending = try outcome.get()
        if case .incomplete = ending { return nil }
        do throws(EngineFailure) {
            try await untilFree(sleep) { tx in try tx.rebuild.finish() }
        } catch {
            // The rebuild is complete. The next rebuild empties the table first, so the remaining
            // rows do no harm.
            context.logger.warning(
                "deleting the temporary rows of a rebuild failed",
                metadata: ["reason": "\(error)"])
        }
        switch ending {
        case .incomplete: return nil
        case .aborted(let failure): throw failure
        case .done(let differences): return differences
        }
    }

    /// Runs a transaction, and retries it while other operations have the locks that it needs.
    private func untilFree<Value: Sendable>(
        _ sleep: @Sendable (Duration) async throws -> Void,
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws(EngineFailure) -> Value {
        var attempts = 0
        while true {
            do throws(EngineFailure) { return try await context.transaction(body) } catch {
                attempts += 1
                guard error == .busy, attempts < Self.endingAttemptsMax else { throw error }
            }
            context.logger.warning(
                "the rebuild is waiting for locks on the tables",
                metadata: ["attempt": "\(attempts)", "of": "\(Self.endingAttemptsMax)"])
            do { try await sleep(Self.endingPauses.delay(after: attempts)) } catch {
                throw EngineFailure.busy
            }
        }
    }
}

extension VerificationService {
    /// Verifies a recorded document again, as of the time it was received.
    func verify(
        again document: StoredDocument
    ) async throws(EngineFailure) -> VerifiedDocument {
        let (app, verifier) = try context.app(document.app)
        guard let bytes = document.bytes else {
            throw .storage("The stored form does not reproduce the document's bytes.")
        }
        let origin = VerifiedDocument.Origin(
            app: app, source: document.source, receivedAt: document.receivedAt,
            digests: context.digests)
        switch document.kind {
        case .notification:
            let outcome = await verifier.notification(
                bytes, for: app.identity, at: AppStoreDate(document.receivedAt))
            return VerifiedDocument(notification: try trusted(outcome), bytes, from: origin)
        case .transaction: return try await verify(transaction: bytes, verifier, origin)
        case .renewal: return try await verify(renewal: bytes, verifier, origin)
        case .appTransaction: return try await verify(appTransaction: bytes, verifier, origin)
        case .graceResponse: return try await verify(graceAnswer: bytes, verifier, origin)
        case .appReceipt: return try await verify(appReceipt: bytes, verifier, origin)
        case .transactionReceipt:
            return try await verify(transactionReceipt: bytes, verifier, origin)
        case .notificationV1: return try await verify(v1Again: bytes, verifier, origin)
        case .receiptResponse:
            let store = document.environment.storeEnvironment
            return try await verify(answer: bytes, of: store, verifier, origin)
        }
    }
}

private enum RebuildOutcome: Sendable {
    /// The database contains documents that the pass has not read.
    case incomplete
    /// Nothing was changed, and the new rows are discarded.
    case aborted(EngineFailure)
    case done(Differences)
}

/// How far a rebuild has come.
private struct RebuildProgress: Sendable {
    var report = RebuildReport(documents: 0, differences: 0, firstDifferences: [], unusable: [])
    var verifiesOnly: Bool
    /// The number of claim ids in recorded documents whose ends were not applied to the tables.
    var unappliedUnclaims = 0
    var positions: [AppID: DocumentPosition] = [:]
    /// The number of facts that this rebuild has made.
    var facts = 0
    var extraPasses = 0
    /// If documents arrived since this time and this rebuild has not read them, their existing
    /// facts are copied. Nil if no facts are copied.
    var copiesArrivedSince: Instant?

    /// Whether facts in use might be lost, because their documents are not usable or were not read.
    var mayLose: Bool { copiesArrivedSince != nil || !report.unusable.isEmpty }

    func reason(losing count: Int) -> String {
        if let first = report.unusable.first {
            return "\(count.counted("document")) in use can no longer be verified: \(first)"
        }
        return "\(count.counted("document")) arrived meanwhile, timed by another clock than this "
            + "machine's"
    }
}

extension MaintenanceService {
    /// Creates the tables of the coming months if the database partitions documents by month.
    /// Idempotent.
    package func createPartitions() async throws(EngineFailure) {
        let now = context.now()
        do { try await context.db.createPartitions(around: now) } catch {
            throw EngineFailure(error)
        }
    }

    /// Collects statistics of tables that have changed much, if the database needs them to find
    /// rows. Returns the number of these tables.
    package func refreshStatistics() async throws(EngineFailure) -> Int {
        do { return try await context.db.refreshStatistics() } catch { throw EngineFailure(error) }
    }
}
