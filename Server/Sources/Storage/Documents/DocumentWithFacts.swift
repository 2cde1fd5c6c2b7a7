import Ledger

/// A document to be recorded, the facts that it attests, and where to forward it.
package struct DocumentWithFacts: Hashable, Sendable {
    package var document: StoredDocument
    package var facts: [Fact]
    /// Where to forward the notification that contained the document. Nil if the notification is
    /// not forwarded.
    package var forward: ForwardOrder?
    /// Apple's request for consumption information that came with the document.
    package var consumptionInquiry: ConsumptionInquiry?
    /// The claims on seats that the App Store has ended, according to the document.
    package var seatUnclaim: SeatUnclaim?
    /// The continuation of a purchase under another id.
    package var succession: Succession?

    package init(_ document: StoredDocument, _ facts: [Fact]) {
        self.document = document
        self.facts = facts
    }
}

/// Records documents with their facts, and everything that follows from them, in a transaction. For
/// each document, returns false if the document was recorded before, or if it occurs twice in the
/// list.
package typealias Recorder =
    @Sendable (DatabaseSession, [DocumentWithFacts]) throws -> [Bool]

/// Documents to be recorded in a transaction that other writers may share.
struct Recording: Sendable {
    var documents: [DocumentWithFacts]
    var rules: DatabaseRules
    var recorder: Recorder
}

extension Database {
    /// Records a document with its facts, and returns when both are durable. Returns false if the
    /// document was recorded before. Idempotent.
    ///
    /// Documents recorded at the same time share one commit and its statements: see
    /// ``transaction(_:)``.
    ///
    /// - Throws: ``StorageFailure``; of kind `busy` if too many writes are waiting.
    package func record(
        _ attested: DocumentWithFacts, by recorder: @escaping Recorder
    ) async throws -> Bool {
        try await record([attested], by: recorder)[0].get()
    }

    /// Records several documents with their facts. Each succeeds or fails separately.
    package func record(
        _ attested: [DocumentWithFacts], by recorder: @escaping Recorder
    ) async -> [Result<Bool, any Error>] {
        let onSnapshot = attested.allSatisfy(rules.recordsOnSnapshot)
        return await (onSnapshot ? recordings : commits).record(
            Recording(documents: attested, rules: rules, recorder: recorder))
    }
}
