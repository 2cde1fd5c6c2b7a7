import Ledger

/// Limits the number of new documents per purchase and hour that devices may post. Anyone with a
/// purchase on a device can make the App Store sign the purchase again and again. Each signature
/// results in a new document.
///
/// A purchase may use its whole budget at once; after that the budget refills evenly, and is full
/// again after an hour.
package struct DocumentBudget: Hashable, Sendable {
    package static let perHourDefault = 1_000
    private static let hourMilliseconds: Int64 = 3_600_000

    package var perHour: Int

    package init(perHour: Int = Self.perHourDefault) { self.perHour = perHour }

    /// Consumes budget for the given number of documents.
    ///
    /// - Parameter fullAt: the stored time when the budget will be full again; nil means that it is
    ///   full.
    /// - Returns: the new time when the budget will be full again. If too little is left, the time
    ///   when enough will be left.
    func consume(_ count: Int, fullAt: Instant?, at now: Instant) -> Outcome {
        let hour = Duration.milliseconds(Self.hourMilliseconds)
        let cost = Duration.milliseconds(
            max(1, Self.hourMilliseconds / Int64(max(1, perHour))) * Int64(count))
        // A time more than an hour ahead was written by a clock that has been corrected since.
        let start = fullAt.flatMap { $0 > now && $0 <= now + hour ? $0 : nil } ?? now
        let end = start + cost
        return end <= now + hour ? .consumed(fullAt: end) : .exhausted(until: end - hour)
    }

    enum Outcome: Hashable, Sendable {
        case consumed(fullAt: Instant)
        case exhausted(until: Instant)
    }
}

/// The document budget of a purchase is exhausted.
package struct DocumentBudgetExhausted: Error, Hashable, Sendable {
    package var purchase: PurchaseID
    /// How long to wait until there is enough budget for the rejected documents.
    package var wait: Duration
}

extension DocumentRows {
    /// Consumes the budgets of the purchases that new documents are about. The same transaction
    /// must have recorded the documents before.
    ///
    /// - Throws: ``DocumentBudgetExhausted``; the transaction must then be rolled back.
    package func spend(
        _ budget: DocumentBudget, on new: [DocumentWithFacts], at now: Instant
    ) throws {
        var counts: [DocumentBudgetKey: Int] = [:]
        for one in new {
            for purchase in Set(one.facts.map(\.purchase)) {
                counts[DocumentBudgetKey(app: one.document.app, purchase: purchase), default: 0] +=
                    1
            }
        }
        // Ordered by key, so that two servers never deadlock.
        let spent = counts.sorted { $0.key < $1.key }
        let rows = try connection.rowsEach(
            "SELECT documents_full_at_ms FROM purchases "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            spent.map { PurchaseRows.key(of: $0.key.purchase, in: $0.key.app) })
        var updates: [[Value]] = []
        for ((key, count), rows) in zip(spent, rows) {
            let fullAt =
                try rows.first?.read { row throws(StorageFailure) in try row.optionalInstant() }
                ?? nil
            switch budget.consume(count, fullAt: fullAt, at: now) {
            case .consumed(let end):
                updates.append(
                    [.integer(end.milliseconds)] + PurchaseRows.key(of: key.purchase, in: key.app))
            case .exhausted(let until):
                throw DocumentBudgetExhausted(purchase: key.purchase, wait: until - now)
            }
        }
        try connection.runEach(
            "UPDATE purchases SET documents_full_at_ms = $1 "
                + "WHERE app = $2 AND environment = $3 AND purchase = $4", updates)
    }
}

private struct DocumentBudgetKey: Hashable, Comparable {
    var app: AppID
    var purchase: PurchaseID

    static func < (one: Self, other: Self) -> Bool {
        (one.app, one.purchase) < (other.app, other.purchase)
    }
}
