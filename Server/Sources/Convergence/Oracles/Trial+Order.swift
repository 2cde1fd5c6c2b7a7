import Engine
import Ledger
import Simulator
import Storage
import StorageSQLite

// Checks that neither the order nor the number of deliveries of documents matters.

extension Trial {
    private static let documentsMax = 20_000

    /// Derives all rows again from the documents. Usually compares them with the current rows;
    /// sometimes records the documents again in another order.
    func expectReplay() async throws {
        var lots = plan.random("documents")
        if lots.happens(0.3) { return try await expectAnyOrderOfDocuments(&lots) }
        let found = try await auditor.maintenance.rebuild(verifyOnly: true)
        guard found.isClean else { throw violation("replay", "\(found)") }
        report.tally.add("documents compared with their rows")
    }

    /// Expects that the documents make the same purchases and the same answers if another server
    /// records them on an empty database, in another order and some of them twice.
    private func expectAnyOrderOfDocuments(_ lots: inout TrialRandom) async throws {
        let kept = try await Database(database).read { tx in
            try tx.documents.apps().flatMap { app in
                try tx.documents.all(of: app, after: .start, limit: Self.documentsMax)
            }
        }
        let empty = try fixture.databases.checkOut()
        let other = auditor(of: empty)
        try await other.prepare()
        let again = kept.shuffled(using: &lots).prefix(kept.count / 2)
        try await other.recording.record((kept + again).shuffled(using: &lots))
        // The other server knows nothing of an erased customer.
        for name in accounts where await !erased.contains(customer(of: name)) {
            let books = await groundTruth(of: name)
            guard !books.isEmpty else { continue }
            let ours = try await response(to: name, books)
            try await link(ours, in: empty)
            let theirs = try await other.customers.find(
                ours.id, app: TrialFixture.app, environment: ours.environment)
            let shared = Set(
                ours.purchases.filter { $0.sharedBy != nil }.map(\.timeline.purchase))
            guard theirs.asDocumentsSay(shared) == ours.asDocumentsSay(shared) else {
                throw violation("order", "\(name): documents in another order give other answers")
            }
        }
        try await fixture.databases.checkIn(empty)
        report.tally.add("documents in another order")
    }

    /// Copies the links, because documents do not determine the owner of a purchase.
    private func link(_ state: CustomerState, in empty: SQLiteDriver) async throws {
        let source = Database(database)
        for purchase in state.purchases.map(\.timeline.purchase) {
            let link = try await source.read { tx in
                try tx.links.find(of: purchase, in: TrialFixture.app)
            }
            guard let link else { continue }
            try await Database(empty).transaction { tx in
                let owner = try IdentityUpdates(tx).customer(
                    state.id, in: TrialFixture.app, at: link.since
                )
                .customer
                try OwnershipUpdates(tx).link(
                    purchase, to: owner, by: link.evidence, in: TrialFixture.app, at: link.since)
            }
        }
    }
}

extension CustomerState {
    /// Removes the data that documents do not determine: the ids of a customer, and the shares of
    /// purchases.
    ///
    /// - Parameter shared: purchases of other customers. Only the owner of such a purchase sees its
    ///   number of seats. These purchases are put last, in a fixed order.
    fileprivate func asDocumentsSay(_ shared: Set<PurchaseID>) -> CustomerState {
        var state = self
        (state.aliases, state.accountTokens, state.accountToken) = ([], [], nil)
        state.isAnonymous = false
        for index in state.purchases.indices {
            state.purchases[index].sharedBy = nil
            if shared.contains(state.purchases[index].timeline.purchase) {
                state.purchases[index].seats = nil
            }
        }
        let others = state.purchases.filter { shared.contains($0.timeline.purchase) }
        state.purchases.removeAll { shared.contains($0.timeline.purchase) }
        state.purchases += others.sorted { $0.timeline.purchase < $1.timeline.purchase }
        return state
    }
}
