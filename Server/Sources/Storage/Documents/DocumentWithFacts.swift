import Ledger

/// A document to be recorded, the facts that it attests, and where to forward it.
package struct DocumentWithFacts: Hashable, Sendable {
    package var document: StoredDocument
    package var facts: [Fact]
    /// Where to forward the notification that contained the document; nil means nowhere.
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

extension DocumentRecorder {
    /// Records a document with its facts. Returns false if it was recorded before; then its facts
    /// are stored too.
    package func record(_ attested: DocumentWithFacts) throws(StorageFailure) -> Bool {
        try record([attested])[0]
    }

    /// Records a document with its facts. Use this overload when a transaction records several
    /// documents in sequence, and the events of each must be emitted before the next is read.
    ///
    /// - Parameter walletCache: the cached wallets, passed on from one call to the next.
    package func record(
        _ attested: DocumentWithFacts, _ walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) -> Bool {
        try record([attested], &walletCache)[0]
    }

    /// Records documents with their facts, with one batch per table. For each document, returns
    /// false if it was recorded before, or if it occurs twice in the list.
    func record(_ attested: [DocumentWithFacts]) throws(StorageFailure) -> [Bool] {
        var walletCache = WalletProjectionCache()
        return try record(attested, &walletCache)
    }

    private func record(
        _ attested: [DocumentWithFacts], _ walletCache: inout WalletProjectionCache
    ) throws(StorageFailure) -> [Bool] {
        let isNew = try tx.documents.insert(attested.map(\.document))
        let new = zip(attested, isNew).filter(\.1).map(\.0)
        try project(new, &walletCache)
        try tx.ownership.linkSuccessors(new, &walletCache)
        try tx.inquiries.record(new)
        try tx.seats.recordUnclaims(new)
        try tx.forwards.enqueue(attested)
        return isNew
    }
}

extension Database {
    /// Records a document with its facts, and returns when they are durable. Returns false if the
    /// document was recorded before. Idempotent.
    ///
    /// Documents recorded at the same time share one commit and its statements: see
    /// ``transaction(_:)``.
    ///
    /// - Throws: ``StorageFailure``; of kind `busy` if too many writes are waiting.
    package func record(_ attested: DocumentWithFacts) async throws -> Bool {
        try await record([attested])[0].get()
    }

    /// Records several documents with their facts. Each succeeds or fails separately.
    package func record(_ attested: [DocumentWithFacts]) async -> [Result<Bool, any Error>] {
        let onSnapshot = attested.allSatisfy(rules.recordsOnSnapshot)
        return await (onSnapshot ? recordings : commits).record(attested, by: rules)
    }
}
