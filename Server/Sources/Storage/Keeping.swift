import Ledger

/// A document, the facts that it attests, and whom it is to be sent on to: kept together.
package struct AttestedDocument: Hashable, Sendable {
    package var document: StoredDocument
    package var facts: [Fact]
    /// Whom the notification that it came in is to be sent on to; nil: nobody.
    package var forward: ForwardOrder?
    /// What the store asks with it.
    package var question: ConsumptionQuestion?
    /// That a purchase went on as another.
    package var succession: Succession?

    package init(_ document: StoredDocument, _ facts: [Fact]) {
        self.document = document
        self.facts = facts
    }
}

extension StoreTransaction {
    /// Keeps a document with its facts. False where it was kept before: then its facts are there
    /// too.
    package func keep(_ attested: AttestedDocument) throws(StorageFailure) -> Bool {
        try keep([attested])[0]
    }

    /// The same where a transaction keeps several, one after the other: each is told before the
    /// next is looked at.
    ///
    /// - Parameter purses: passed on from one to the next.
    package func keep(
        _ attested: AttestedDocument, _ purses: inout Purses
    ) throws(StorageFailure) -> Bool {
        try keep([attested], &purses)[0]
    }

    /// Keeps documents with their facts, each table's rows in one go. For each, false where it was
    /// kept before, or stands twice among them.
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
    /// Keeps a document with its facts; returns when they are on disk. False where it was kept
    /// before. Harmless to repeat.
    ///
    /// Documents that come at the same time share one commit, and their statements: see
    /// ``transaction(_:)``.
    ///
    /// - Throws: ``StorageFailure``; of kind `busy` where too many wait.
    package func keep(_ attested: AttestedDocument) async throws -> Bool {
        try await commits.keep([attested])[0].get()
    }

    /// The same of several, of which each succeeds or fails by itself.
    package func keep(_ attested: [AttestedDocument]) async -> [Result<Bool, any Error>] {
        await commits.keep(attested)
    }
}
