import Ledger

/// How many new documents of one purchase devices may bring in an hour. Who has a device with a
/// purchase can have the store sign it anew, again and again, and each time it is a new document.
///
/// A purchase may use up its whole budget at once; from then on it fills again evenly, and is full
/// after an hour.
package struct DocumentBudget: Hashable, Sendable {
    package static let perHourDefault = 1_000
    private static let hourMilliseconds: Int64 = 3_600_000

    package var perHour: Int

    package init(perHour: Int = Self.perHourDefault) { self.perHour = perHour }

    /// Takes out so many documents.
    ///
    /// - Parameter fullAt: when the whole budget is there again, as it was stored; nil: it is.
    /// - Returns: when it is after that; or, where too little is left, when there will be enough.
    func take(_ count: Int, fullAt: Instant?, at now: Instant) -> Taking {
        let hour = Duration.milliseconds(Self.hourMilliseconds)
        let cost = Duration.milliseconds(
            max(1, Self.hourMilliseconds / Int64(max(1, perHour))) * Int64(count))
        // What lies more than an hour ahead is of a clock that was put back.
        let start = fullAt.flatMap { $0 > now && $0 <= now + hour ? $0 : nil } ?? now
        let end = start + cost
        return end <= now + hour ? .taken(fullAt: end) : .spent(until: end - hour)
    }

    enum Taking: Hashable, Sendable {
        case taken(fullAt: Instant)
        case spent(until: Instant)
    }
}

/// A purchase of which no more documents are taken in for a while.
package struct DocumentBudgetSpent: Error, Hashable, Sendable {
    package var purchase: PurchaseID
    /// After that there is room for what was refused.
    package var wait: Duration
}

extension StoreTransaction {
    /// Takes new documents, which are kept already, out of the budgets of the purchases that they
    /// are about.
    ///
    /// - Throws: ``DocumentBudgetSpent``: the transaction is to be undone.
    package func spend(
        _ budget: DocumentBudget, on new: [AttestedDocument], at now: Instant
    ) throws {
        var counts: [DocumentBudgetKey: Int] = [:]
        for one in new {
            for purchase in Set(one.facts.map(\.purchase)) {
                counts[DocumentBudgetKey(app: one.document.app, purchase: purchase), default: 0] +=
                    1
            }
        }
        // In the order of their keys, so that two servers never wait for each other.
        let spent = counts.sorted { $0.key < $1.key }
        let rows = try connection.rowsEach(
            "SELECT documents_full_at_ms FROM purchases "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            spent.map { Self.key(of: $0.key.purchase, in: $0.key.app) })
        var updates: [[Value]] = []
        for ((key, count), rows) in zip(spent, rows) {
            let fullAt = try rows.first?.optionalInteger(0).map(Instant.init(milliseconds:))
            switch budget.take(count, fullAt: fullAt, at: now) {
            case .taken(let end):
                updates.append(
                    [.integer(end.milliseconds)] + Self.key(of: key.purchase, in: key.app))
            case .spent(let until):
                throw DocumentBudgetSpent(purchase: key.purchase, wait: until - now)
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
