import Ledger
import Reports

/// The changes that documents make to the money of one purchase.
package struct MoneyProjection: Sendable {
    var app: AppID
    /// The timeline before the documents; ``after`` is the timeline with them.
    var before: Timeline
    var after: Timeline
    /// The documents. Their facts are stored already.
    var documents: [DocumentWithFacts]

    /// - Parameters:
    ///   - before: the timeline before the documents.
    ///   - after: the timeline with the documents.
    ///   - documents: the documents. Their facts must be stored already.
    package init(
        app: AppID, before: Timeline, after: Timeline, documents: [DocumentWithFacts]
    ) {
        self.app = app
        self.before = before
        self.after = after
        self.documents = documents
    }

    /// The values of the statements that write the changes.
    struct Rows: Sendable {
        var transactions: [[Value]] = []
        /// The values of the statement that deletes transactions that no longer exist. Nil if there
        /// are none.
        var transactionsEnd: [Value]?
        var removed: [[Value]] = []
        var replaced: [[Value]] = []
        var added: [[Value]] = []
        /// The values of the statement that inserts changes of sums and cohorts. Nil if there are
        /// none.
        var waiting: [Value]?
    }

    var purchase: PurchaseID { after.purchase }

    /// Whether the documents may change rows about money. Most documents of a device contain only
    /// known facts.
    var mayChange: Bool {
        guard purchase.appTransaction == nil, !documents.isEmpty else { return false }
        return documents.contains { $0.facts.contains(where: mayChange) }
            || !after.hasSamePeriods(as: before)
    }

    /// Whether a fact may change rows about money. If a statement about a payment is older than the
    /// known statement, it can only change the times of reversed refunds.
    private func mayChange(_ fact: Fact) -> Bool {
        if fact.isRenewal { return true }
        guard let payment = AttestedPayment(fact) else { return false }
        let known = after.period(toldBy: payment.payment, fact.grade)?.attestedAt
        return payment.refund != nil || known.map { fact.attestedAt < $0 } ?? true
    }

    /// Whether a refund may have been reversed, so that all statements about payments are needed.
    /// True if a payment is or was refunded, or if a document or a movement shows a refund.
    ///
    /// - Parameter stored: the stored movements.
    func mayHaveReversal(_ stored: [StoredMovement]) -> Bool {
        before.periods.contains(where: { $0.payment.revocation != nil })
            || documents.contains(where: { document in
                document.facts.contains { AttestedPayment($0)?.refund != nil }
            })
            || stored.contains(where: \.version.movement.isMeanwhile)
    }

    /// - Parameters:
    ///   - renewals: the stored facts about the purchase's renewal.
    ///   - payments: the stored facts about its payments; empty if no refund can have been
    ///     reversed.
    ///   - stored: the stored movements.
    func rows(
        _ renewals: [Row], _ payments: [Row], _ stored: [StoredMovement], _ rules: MoneyRules
    ) throws(StorageFailure) -> Rows {
        let told = try payments.read { row throws(StorageFailure) in
            AttestedPayment(try FactRows.fact(&row, about: purchase))
        }.compactMap(\.self)
        let books = PurchaseBooks(of: after, try statements(renewals), told, rules: rules)
        let key = PurchaseRows.key(of: purchase, in: app)
        var rows = Rows()
        let former = PurchaseBooks.transactions(of: before, rules: rules)
        rows.transactions = MoneyRows.values(of: books.transactions, key, besides: former)
        if former.count > books.transactions.count {
            rows.transactionsEnd = key + [.integer(Int64(books.transactions.count))]
        }
        addMovements(books.movements, to: &rows, stored, rules.clock)
        return rows
    }

    /// All statements about the renewal of the purchase.
    private func statements(
        _ rows: [Row]
    ) throws(StorageFailure) -> [Timeline.Attested<Renewal>] {
        var renewals: [Timeline.Attested<Renewal>] = []
        for row in rows {
            let fact = try row.read { row throws(StorageFailure) in
                try FactRows.fact(&row, about: purchase)
            }
            if case .renewal(let renewal) = fact.statement {
                renewals.append(Timeline.Attested(renewal, at: fact.attestedAt))
            }
        }
        return renewals
    }

    private func addMovements(
        _ movements: [Movement], to rows: inout Rows, _ stored: [StoredMovement],
        _ clock: WallClock
    ) {
        guard let receivedAt = documents.last?.document.receivedAt else { return }
        let history = MovementHistory(versions: stored.map(\.version))
        // The time is never before the last known change, because another server's clock may be
        // ahead.
        let knownAt = history.lastChange.map { max($0, receivedAt) } ?? receivedAt
        let change = MovementHistory.Change(from: history, to: movements, at: knownAt)
        guard !change.isEmpty else { return }
        let key = PurchaseRows.key(of: purchase, in: app)
        rows.add(change, key, clock)
        let waiting = change.waiting(of: stored, clock)
        guard !waiting.isEmpty else { return }
        rows.waiting = key + [.integer(change.at.milliseconds), .bytes(waiting.stored)]
    }
}

extension MoneyProjection.Rows {
    /// Known versions are marked as replaced; versions that became known at the same moment are
    /// deleted.
    fileprivate mutating func add(
        _ change: MovementHistory.Change, _ key: [Value], _ clock: WallClock
    ) {
        for version in change.replaced {
            let name = key + MovementRows.name(of: version)
            if version.knownAt < change.at {
                replaced.append([.integer(change.at.milliseconds)] + name)
            } else {
                removed.append(name)
            }
        }
        replaced += change.restored.map { [.null] + key + MovementRows.name(of: $0) }
        added += change.added.map {
            key
                + MovementRows.values(
                    of: MovementHistory.Version($0, knownAt: change.at), clock)
        }
    }
}

extension MovementHistory.Change {
    /// - Parameter stored: the rows that were stored before, with the days on which the sums count
    ///   them.
    fileprivate func waiting(of stored: [StoredMovement], _ clock: WallClock) -> WaitingChanges {
        let replaced = Set(replaced)
        let restored = Set(restored)
        var (old, new, same): ([DatedMovement], [DatedMovement], [DatedMovement]) = ([], [], [])
        for one in stored {
            if replaced.contains(one.version) {
                old.append(one.dated)
            } else if restored.contains(one.version) {
                new.append(one.dated)
            } else if one.version.replacedAt == nil {
                same.append(one.dated)
            }
        }
        new += added.map { $0.dated(by: clock) }
        return WaitingChanges(from: old, to: new, keeping: same)
    }
}

extension Fact {
    fileprivate var isRenewal: Bool {
        if case .renewal = statement { true } else { false }
    }
}

extension Timeline {
    /// Whether the purchased periods are the same, whichever documents attest them.
    fileprivate func hasSamePeriods(as other: Timeline) -> Bool {
        periods.count == other.periods.count
            && zip(periods, other.periods).allSatisfy { one, other in
                one.payment == other.payment && one.end == other.end
                    && one.isReplaced == other.isReplaced && one.isVoid == other.isVoid
                    && one.isAddition == other.isAddition
            }
    }
}
