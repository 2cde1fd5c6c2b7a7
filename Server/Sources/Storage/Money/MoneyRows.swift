import Ledger
import Reports

/// The rows about money that follow from a purchase's facts, all together.
extension DatabaseSession {
    /// Writes what documents change in the rows of one purchase.
    ///
    /// - Parameters:
    ///   - before: the timeline before the documents.
    ///   - after: the same purchase with them, and what is reported of it.
    ///   - documents: the documents. Their facts are stored already.
    func recordMoney(
        from before: Timeline, to after: ReportedPurchase, by documents: [DocumentWithFacts]
    ) throws(StorageFailure) {
        let (app, purchase) = (after.app, after.timeline.purchase)
        guard purchase.appTransaction == nil, let receivedAt = documents.last?.document.receivedAt
        else { return }
        // Most documents of a device say what is known already.
        let saysRenewal = documents.contains { $0.facts.contains(where: \.isRenewal) }
        guard saysRenewal || !after.timeline.hasSamePeriods(as: before) else { return }
        let rules = rules.money(of: app)
        let renewals = try renewals(of: purchase, in: app)
        let books = PurchaseBooks(of: after.timeline, renewals, rules: rules)
        try upsertTransactions(
            books.transactions, before: PurchaseBooks(of: before, [], rules: rules).transactions,
            of: purchase, in: app)
        let history = MovementHistory(versions: try movementVersions(of: purchase, in: app))
        // Never before what is known: another server's clock may be ahead.
        let knownAt = history.lastChange.map { max($0, receivedAt) } ?? receivedAt
        try record(
            MovementHistory.Change(from: history, to: books.movements, at: knownAt), of: purchase,
            in: app)
    }

    /// Everything that was ever said about the renewal of a purchase.
    private func renewals(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [Timeline.Attested<Renewal>] {
        let rows = try connection.rows(
            "SELECT attested_at_ms, statement FROM facts WHERE app = $1 AND environment = $2 "
                + "AND purchase = $3 AND subject = ''", Self.key(of: purchase, in: app))
        var renewals: [Timeline.Attested<Renewal>] = []
        for row in rows {
            let fact = try Self.fact(row, about: purchase)
            if case .renewal(let renewal) = fact.statement {
                renewals.append(Timeline.Attested(renewal, at: fact.attestedAt))
            }
        }
        return renewals
    }

    /// Derives all rows of a purchase again. If what is known now is stored already, what was known
    /// earlier stays as it is; otherwise it is derived from the times at which documents were
    /// received.
    ///
    /// - Parameter replacing: whether the movements are written anew in any case, because the rules
    ///   have changed.
    func rebuildMoney(
        of purchase: PurchaseID, in app: AppID, replacing: Bool = false
    ) throws(StorageFailure) {
        guard purchase.appTransaction == nil else { return }
        let rules = rules.money(of: app)
        let sources = try facts(about: purchase, in: app)
        let books = PurchaseBooks(of: purchase, sources.map(\.fact), rules: rules)
        try upsertTransactions(books.transactions, before: nil, of: purchase, in: app)
        let stored = MovementHistory(versions: try movementVersions(of: purchase, in: app))
        if replacing || Set(stored.known.map(\.movement)) != Set(books.movements) {
            let history = MovementHistory(of: purchase, Self.documents(of: sources), rules: rules)
            try replaceMovements(of: purchase, by: history, in: app)
        }
        if let reported = try reportedPurchase(purchase, in: app) {
            try upsertSubscriptions([reported])
        }
    }

    private static func documents(
        of sources: [FactWithSource]
    ) -> [(receivedAt: Instant, facts: [Fact])] {
        Dictionary(grouping: sources, by: \.receivedAt).sorted { $0.key < $1.key }
            .map { ($0.key, $0.value.map(\.fact)) }
    }

    /// Deletes the rows of purchases that no document attests any more.
    func deleteMoneyWithoutFacts() throws(StorageFailure) {
        for table in ["money_transactions", "money_movements", "money_subscriptions"] {
            try connection.run(
                "DELETE FROM \(table) WHERE NOT EXISTS (SELECT 1 FROM purchases "
                    + "WHERE purchases.app = \(table).app "
                    + "AND purchases.environment = \(table).environment "
                    + "AND purchases.purchase = \(table).purchase)", [])
        }
    }

    /// Sentences about rows that differ from what the facts imply.
    func moneyDifferences(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> [String] {
        guard purchase.appTransaction == nil else { return [] }
        let books = PurchaseBooks(
            of: purchase, try facts(about: purchase, in: app).map(\.fact),
            rules: rules.money(of: app))
        let stored = MovementHistory(versions: try movementVersions(of: purchase, in: app))
        guard Set(stored.known.map(\.movement)) != Set(books.movements) else { return [] }
        return ["movements differ: \(app) \(purchase)"]
    }
}

extension Fact {
    fileprivate var isRenewal: Bool {
        if case .renewal = statement { true } else { false }
    }
}

extension Timeline {
    /// Whether what was bought is the same, whoever attests it.
    fileprivate func hasSamePeriods(as other: Timeline) -> Bool {
        periods.count == other.periods.count
            && zip(periods, other.periods).allSatisfy { one, other in
                one.payment == other.payment && one.end == other.end
                    && one.isReplaced == other.isReplaced && one.isVoid == other.isVoid
            }
    }
}
