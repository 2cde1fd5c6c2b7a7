import Ledger

/// A document to be recorded, the facts that it attests, and where to forward it.
package struct AttestedDocument: Hashable, Sendable {
    package var document: StoredDocument
    package var facts: [Fact]
    /// Where to forward the notification that contained the document; nil means nowhere.
    package var forward: ForwardOrder?
    /// Apple's request for consumption information that came with the document.
    package var question: ConsumptionQuestion?
    /// That a purchase continued under another id.
    package var succession: Succession?

    package init(_ document: StoredDocument, _ facts: [Fact]) {
        self.document = document
        self.facts = facts
    }
}

extension StoreTransaction {
    /// Records a document with its facts. Returns false if it was recorded before; then its facts
    /// are stored too.
    package func keep(_ attested: AttestedDocument) throws(StorageFailure) -> Bool {
        try keep([attested])[0]
    }

    /// Records a document with its facts. Use this overload when a transaction records several
    /// documents in sequence, and the events of each must be emitted before the next is read.
    ///
    /// - Parameter purses: the cached wallets, passed on from one call to the next.
    package func keep(
        _ attested: AttestedDocument, _ purses: inout Purses
    ) throws(StorageFailure) -> Bool {
        try keep([attested], &purses)[0]
    }

    /// Records documents with their facts, with one batch per table. For each document, returns
    /// false if it was recorded before, or if it occurs twice in the list.
    func keep(_ attested: [AttestedDocument]) throws(StorageFailure) -> [Bool] {
        var purses = Purses()
        return try keep(attested, &purses)
    }

    private func keep(
        _ attested: [AttestedDocument], _ purses: inout Purses
    ) throws(StorageFailure) -> [Bool] {
        let attested = try asKnown(attested)
        let isNew = try add(attested.map(\.document))
        let new = zip(attested, isNew).filter(\.1).map(\.0)
        try add(new, &purses)
        try inherit(new, &purses)
        try ask(new)
        try forward(attested)
        return isNew
    }
}

extension Store {
    /// Records a document with its facts, and returns when they are durable. Returns false if the
    /// document was recorded before. Idempotent.
    ///
    /// Documents recorded at the same time share one commit and its statements: see
    /// ``transaction(_:)``.
    ///
    /// - Throws: ``StorageFailure``; of kind `busy` if too many writes are waiting.
    package func keep(_ attested: AttestedDocument) async throws -> Bool {
        try await commits.keep([attested])[0].get()
    }

    /// Records several documents with their facts. Each succeeds or fails by itself.
    package func keep(_ attested: [AttestedDocument]) async -> [Result<Bool, any Error>] {
        await commits.keep(attested)
    }
}
