import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage

/// What a rebuild found.
package struct RebuildReport: Hashable, Sendable {
    package var documents: Int
    /// How many rows differed from what the documents make.
    package var differences: Int
    package var firstDifferences: [String]
    /// Documents that make no facts any more, each with why.
    package var unusable: [String]

    package var isClean: Bool { differences == 0 && unusable.isEmpty }
}

extension Engine {
    /// Documents read, verified and folded at a time.
    private static let rebuildBatch = 500
    /// Unusable documents that are named.
    private static let unusableMax = 20

    /// Walks of what has arrived meanwhile, before the rest is taken as it stands.
    private static let shortWalksMax = 10
    /// How far the clocks of servers may be apart, and how long a document may wait to be kept.
    private static let arrivalMax = Duration.seconds(600)

    /// Attempts of the transaction that ends a rebuild. Each waits for its locks as long as any
    /// write may, and something like a VACUUM holds a table for longer.
    package static let endingAttemptsMax = 10
    /// Between attempts: then those write who have waited behind it.
    private static let endingPauses = DoublingPauses(first: .seconds(1), longest: .seconds(10))

    /// Makes all derived rows again from the documents, or only compares.
    ///
    /// Every document is verified again, as of the moment it was received: a fact needs a verified
    /// document, also the second time. The rows in use stay until all new ones are there; then one
    /// transaction puts these in their place. Documents that arrive meanwhile are taken along, too;
    /// where they never cease to, by the facts that were made of the last ones a moment ago.
    ///
    /// - Parameter withoutUnusable: also where documents that count now cannot be verified any
    ///   more, as with another configuration: what they gave is taken away.
    /// - Parameter sleep: between attempts to lock the tables.
    /// - Throws: ``EngineFailure``, `storage`: where they cannot, and that is not allowed, and
    ///   where another rebuild is at work; `busy`: where others hold the tables all the time.
    ///   Nothing is changed then.
    package func rebuild(
        verifyOnly: Bool, withoutUnusable: Bool = false,
        progress: @Sendable (_ done: Int, _ of: Int) -> Void = { _, _ in },
        sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) async throws(EngineFailure) -> RebuildReport {
        let since = now() - Self.arrivalMax
        try await transaction { tx in try tx.beginRebuild() }
        var walk = RebuildWalk()
        while true {
            try await rebuildAll(&walk, progress)
            let seen = walk
            let found = try await finishRebuild(
                seen, verifyOnly: verifyOnly, withoutUnusable: withoutUnusable, sleep)
            if let found {
                walk.report.differences = found.count
                walk.report.firstDifferences = found.first
                return walk.report
            }
            // What arrived meanwhile lies behind what was walked, where it was signed later too.
            walk.shortWalks += 1
            if walk.shortWalks > Self.shortWalksMax { walk.takesArrivedSince = since }
        }
    }

    private func rebuildAll(
        _ walk: inout RebuildWalk, _ progress: @Sendable (Int, Int) -> Void
    ) async throws(EngineFailure) {
        let (apps, total) = try await reading { tx in
            (try tx.appsWithDocuments(), try tx.documentCount())
        }
        for app in apps {
            while true {
                let from = walk.positions[app] ?? .start
                let documents = try await reading { tx in
                    try tx.documents(of: app, after: from, limit: Self.rebuildBatch)
                }
                guard let last = documents.last else { break }
                walk.positions[app] = DocumentPosition(after: last)
                try await rebuild(documents, into: &walk)
                progress(walk.report.documents, total)
            }
        }
    }

    private func rebuild(
        _ documents: [StoredDocument], into walk: inout RebuildWalk
    ) async throws(EngineFailure) {
        var pairs: [(facts: [Fact], document: StoredDocument)] = []
        for document in documents {
            walk.report.documents += 1
            do {
                pairs.append((try await attestation(again: document).facts, document))
            } catch {
                guard walk.report.unusable.count < Self.unusableMax else { continue }
                walk.report.unusable.append("\(DocumentID(bytes: document.id)): \(error)")
            }
        }
        let rebuilt = pairs
        walk.facts += try await transaction { tx in
            try rebuilt.reduce(0) { $0 + (try tx.addRebuilt($1.facts, from: $1.document)) }
        }
    }

    /// Takes in documents of another database, in the order in which they stand: each is verified
    /// again, as of the moment it was received there, and keeps its id. Harmless to repeat.
    package func take(_ documents: [StoredDocument]) async throws(EngineFailure) {
        for document in documents {
            var attestation = try await attestation(again: document)
            attestation.document.id = document.id
            do { _ = try await store.keep(attestation.kept) } catch { throw EngineFailure(error) }
        }
    }

    /// Compares, or swaps, unless there are documents that the walk has not seen: then nil.
    private func finishRebuild(
        _ walk: RebuildWalk, verifyOnly: Bool, withoutUnusable: Bool,
        _ sleep: @Sendable (Duration) async throws -> Void
    ) async throws(EngineFailure) -> Differences? {
        let now = now()
        let outcome: Result<RebuildEnding, EngineFailure> = try await untilFree(sleep) { tx in
            try tx.holdWriters()
            var taken = 0
            if try tx.documentCount() != walk.report.documents {
                guard let since = walk.takesArrivedSince else { return .success(.later) }
                taken = try tx.takeFacts(ofArrivedSince: since)
            }
            guard try tx.rebuiltCount() == walk.facts + taken else {
                return .failure(.storage("another rebuild has been at work meanwhile"))
            }
            if !verifyOnly, !withoutUnusable, walk.mayLose {
                let count = try tx.documentsLeftWithoutFacts()
                guard count == 0 else {
                    return .success(.refused(.storage(walk.why(losing: count))))
                }
            }
            let differences = try tx.rebuiltDifferences() + tx.logDifferences()
            if !verifyOnly { try tx.swapRebuilt(at: now) }
            return .success(.done(differences))
        }
        let ending = try outcome.get()
        if case .later = ending { return nil }
        do throws(EngineFailure) {
            try await untilFree(sleep) { tx in try tx.endRebuild() }
        } catch {
            // All is done; the next rebuild empties the table first.
            logger.warning(
                "The rebuilt rows could not be removed from their own table.",
                metadata: ["reason": "\(error)"])
        }
        switch ending {
        case .later: return nil
        case .refused(let failure): throw failure
        case .done(let differences): return differences
        }
    }

    /// Runs a transaction, and runs it again while others hold what it needs.
    private func untilFree<Value: Sendable>(
        _ sleep: @Sendable (Duration) async throws -> Void,
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(EngineFailure) -> Value {
        var attempts = 0
        while true {
            do throws(EngineFailure) { return try await transaction(body) } catch {
                attempts += 1
                guard error == .busy, attempts < Self.endingAttemptsMax else { throw error }
            }
            logger.warning(
                "The rebuild waits: somebody else holds the tables.",
                metadata: ["attempt": "\(attempts)", "of": "\(Self.endingAttemptsMax)"])
            do { try await sleep(Self.endingPauses.pause(after: attempts)) } catch {
                throw EngineFailure.busy
            }
        }
    }

    /// What a document attests that was kept before, as of the moment it was received.
    func attestation(
        again document: StoredDocument
    ) async throws(EngineFailure) -> Attestation {
        let (app, verifier) = try app(document.app)
        guard let bytes = document.bytes else {
            throw .storage("What is stored does not give back the document's bytes.")
        }
        let origin = Attestation.Origin(
            app: app, source: document.source, receivedAt: document.receivedAt,
            digests: digests)
        switch document.kind {
        case .notification:
            let outcome = await verifier.notification(
                bytes, for: app.identity, at: AppStoreDate(document.receivedAt))
            return Attestation(notification: try trusted(outcome), bytes, from: origin)
        case .transaction: return try await attest(transaction: bytes, verifier, origin)
        case .renewal: return try await attest(renewal: bytes, verifier, origin)
        case .graceAnswer: return try await attest(graceAnswer: bytes, verifier, origin)
        case .appReceipt: return try await attest(appReceipt: bytes, verifier, origin)
        case .transactionReceipt:
            return try await attest(transactionReceipt: bytes, verifier, origin)
        case .notificationV1: return try await attest(v1Again: bytes, verifier, origin)
        case .receiptAnswer:
            let store = document.environment.storeEnvironment
            return try await attest(answer: bytes, of: store, verifier, origin)
        }
    }
}

private enum RebuildEnding: Sendable {
    /// There are documents that the walk has not seen.
    case later
    /// Nothing was changed, and what was made is of no use.
    case refused(EngineFailure)
    case done(Differences)
}

/// How far a rebuild is.
private struct RebuildWalk: Sendable {
    var report = RebuildReport(documents: 0, differences: 0, firstDifferences: [], unusable: [])
    var positions: [AppID: DocumentPosition] = [:]
    /// That it has made, and no other.
    var facts = 0
    var shortWalks = 0
    /// Of documents that it has not seen and that came since then, the facts are taken as they
    /// stand.
    var takesArrivedSince: Instant?

    /// Whether documents that count now might count no more.
    var mayLose: Bool { takesArrivedSince != nil || !report.unusable.isEmpty }

    func why(losing count: Int) -> String {
        if let first = report.unusable.first {
            return "\(count) documents that count cannot be verified now: \(first)"
        }
        return "\(count) documents arrived meanwhile, by another clock than this machine's"
    }
}
