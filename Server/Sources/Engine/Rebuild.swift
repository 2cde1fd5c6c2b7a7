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

    /// Makes all derived rows again from the documents, or only compares.
    ///
    /// Every document is verified again, as of the moment it was received: a fact needs a verified
    /// document, also the second time. The rows in use stay until all new ones are there; then one
    /// transaction puts these in their place. Documents that arrive meanwhile are taken along.
    package func rebuild(
        verifyOnly: Bool, progress: @Sendable (_ done: Int, _ of: Int) -> Void = { _, _ in }
    ) async throws(EngineFailure) -> RebuildReport {
        let dialect = store.database.dialect
        try await transaction { tx in try tx.beginRebuild(dialect) }
        var report = RebuildReport(
            documents: 0, differences: 0, firstDifferences: [], unusable: [])
        var position = DocumentPosition.start
        var isComplete = false
        while !isComplete {
            position = try await rebuildAll(after: position, into: &report, progress)
            // A walk in order of signing misses what arrived meanwhile and was signed earlier: then
            // it walks again.
            let expected = report.documents
            if let found = try await finishRebuild(ifDocumentsAre: expected, verifyOnly) {
                (report.differences, report.firstDifferences) = (found.count, found.first)
                isComplete = true
            } else {
                position = .start
                (report.documents, report.unusable) = (0, [])
            }
        }
        return report
    }

    private func rebuildAll(
        after start: DocumentPosition, into report: inout RebuildReport,
        _ progress: @Sendable (Int, Int) -> Void
    ) async throws(EngineFailure) -> DocumentPosition {
        var position = start
        while true {
            let from = position
            let (documents, total) = try await reading { tx in
                (try tx.documents(after: from, limit: Self.rebuildBatch), try tx.documentCount())
            }
            guard let last = documents.last else { return position }
            position = DocumentPosition(after: last)
            try await rebuild(documents, into: &report)
            progress(report.documents, total)
        }
    }

    private func rebuild(
        _ documents: [StoredDocument], into report: inout RebuildReport
    ) async throws(EngineFailure) {
        var pairs: [(facts: [Fact], document: StoredDocument)] = []
        for document in documents {
            report.documents += 1
            do {
                pairs.append((try await attestation(again: document).facts, document))
            } catch {
                guard report.unusable.count < Self.unusableMax else { continue }
                report.unusable.append("\(DocumentID(bytes: document.id)): \(error)")
            }
        }
        let rebuilt = pairs
        try await transaction { tx in
            for (facts, document) in rebuilt { try tx.addRebuilt(facts, from: document) }
        }
    }

    /// Takes in documents of another database, in the order in which they stand: each is verified
    /// again, as of the moment it was received there. Harmless to repeat.
    package func take(_ documents: [StoredDocument]) async throws(EngineFailure) {
        for document in documents {
            let attestation = try await attestation(again: document)
            do { _ = try await store.keep(attestation.kept) } catch { throw EngineFailure(error) }
        }
    }

    /// Compares, or swaps, unless there are documents that the walk has not seen: then nil.
    private func finishRebuild(
        ifDocumentsAre expected: Int, _ verifyOnly: Bool
    ) async throws(EngineFailure) -> Differences? {
        let dialect = store.database.dialect
        let now = now()
        let found: Differences? = try await transaction { tx in
            try tx.holdWriters(dialect)
            guard try tx.documentCount() == expected else { return nil }
            let differences = try tx.rebuiltDifferences() + tx.logDifferences()
            if !verifyOnly { try tx.swapRebuilt(at: now) }
            return differences
        }
        if found != nil { try await transaction { tx in try tx.endRebuild(dialect) } }
        return found
    }

    private func attestation(
        again document: StoredDocument
    ) async throws(EngineFailure) -> Attestation {
        let (app, verifier) = try app(document.app)
        guard let bytes = document.bytes else {
            throw .storage("What is stored does not give back the document's bytes.")
        }
        let origin = Attestation.Origin(
            app: app, source: document.source, receivedAt: document.receivedAt,
            digests: digests)
        let then = AppStoreDate(document.receivedAt)
        switch document.kind {
        case .notification:
            let outcome = await verifier.notification(bytes, for: app.identity, at: then)
            return Attestation(notification: try trusted(outcome), bytes, from: origin)
        case .transaction:
            let outcome = await verifier.transaction(bytes, for: app.identity, at: then)
            return Attestation(transaction: try trusted(outcome), bytes, from: origin)
        case .renewal:
            let outcome = await verifier.renewal(bytes, for: app.identity, at: then)
            return Attestation(renewal: try trusted(outcome), bytes, from: origin)
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
