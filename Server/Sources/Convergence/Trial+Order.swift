import Engine
import Ledger
import Simulator
import Storage
import StorageSQLite

// That the order in which documents come never matters, nor how often.

extension Trial {
    /// Of so many trials one takes in all its documents again.
    private static let oneOf = 4
    private static let documentsMax = 20_000

    /// All that is kept, taken in by another server on an empty database, in another order and some
    /// of it twice, makes the same purchases, and the same answers.
    func expectAnyOrderOfDocuments() async throws {
        var lots = plan.lots("documents")
        guard lots.number(in: 1...Self.oneOf) == 1 else { return }
        let kept = try await Store(database).reading { tx in
            try tx.documents(after: .start, limit: Self.documentsMax)
        }
        let empty = try SQLiteDatabase.inMemory()
        defer { empty.close() }
        let other = auditor(of: empty)
        try await other.prepare()
        let again = kept.shuffled(using: &lots).prefix(kept.count / 2)
        try await other.take((kept + again).shuffled(using: &lots))
        for name in accounts {
            let books = await books(of: name)
            guard !books.isEmpty else { continue }
            let ours = try await answer(to: name, books)
            try await link(ours, in: empty)
            let theirs = try await other.customer(
                ours.id, app: House.app, environment: ours.environment)
            guard theirs == ours else {
                throw breach("order", "\(name): documents in another order make other answers")
            }
        }
        report.tally.add("documents in another order")
    }

    /// Whose a purchase is, is no document's affair.
    private func link(_ state: CustomerState, in empty: SQLiteDatabase) async throws {
        let source = Store(database)
        for purchase in state.purchases.map(\.timeline.purchase) {
            let link = try await source.reading { tx in try tx.link(of: purchase, in: House.app) }
            guard let link else { continue }
            try await Store(empty).transaction { tx in
                let owner = try tx.customer(link.customer, in: House.app, at: link.since).customer
                try tx.link(
                    purchase, to: owner, by: link.evidence, in: House.app, at: link.since)
            }
        }
    }
}
