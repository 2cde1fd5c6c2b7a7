import AppStoreFormats

/// One subscription of API version 2: consecutive periods of one product. A new purchase after a
/// lapse, or another product, is another subscription.
struct SubscriptionRun: Sendable {
    enum Status: String, Sendable {
        case trialing
        case active
        case expired
        case grace = "in_grace_period"
        case retry = "in_billing_retry"
        /// The first period has been charged early, and has not begun.
        case scheduled = "incomplete"
    }

    let line: PurchaseLine
    let spells: [Spell]
    /// Whether the renewal info is about this run.
    let isLast: Bool
    /// When the next run begins. It has another product, or follows a lapse.
    let nextBegins: AppStoreDate?

    /// The runs of a subscription, oldest first.
    static func runs(of line: PurchaseLine) -> [SubscriptionRun] {
        var parts: [[Spell]] = []
        for spell in line.spells {
            let isSame = parts.last?.last?.transaction.productID == spell.transaction.productID
            if isSame, !spell.startsRun {
                parts[parts.count - 1].append(spell)
            } else {
                parts.append([spell])
            }
        }
        return parts.enumerated().map { place, all in
            // A period that was refunded before it began is ignored if there are other periods.
            let real = all.filter { !$0.isEmpty }
            return SubscriptionRun(
                line: line, spells: real.isEmpty ? all : real,
                isLast: all.contains { $0.transaction.id == line.latest?.transaction.id },
                nextBegins: parts.dropFirst(place + 1).joined().first { !$0.isEmpty }?.begins)
        }
    }

    var id: String { "sub" + StableHash.hex(spells[0].transaction.id) }

    func givesAccess(at now: AppStoreDate) -> Bool { spells.contains { $0.covers(now) } }

    /// The period that covers a moment, otherwise the last that has begun, otherwise the first.
    func current(at now: AppStoreDate) -> Spell {
        spells.last { $0.covers(now) } ?? spells.last { $0.begins <= now } ?? spells[0]
    }

    /// Whether the period after the current one has been charged.
    func hasRenewedAlready(at now: AppStoreDate) -> Bool {
        givesAccess(at: now) && spells[spells.count - 1].begins > now
    }

    func status(at now: AppStoreDate) -> Status {
        let current = current(at: now)
        if current.covers(now) {
            if current.transaction.expires.map({ $0 <= now }) ?? false { return .grace }
            return current.transaction.discount == .freeTrial ? .trialing : .active
        }
        if current.begins > now { return .scheduled }
        let isRetrying = isLast && line.renewal?.isRetrying == true
        return isRetrying && current.transaction.revoked == nil ? .retry : .expired
    }

    /// The word for what follows the current period.
    func autoRenewalStatus(at now: AppStoreDate) -> String {
        if hasRenewedAlready(at: now) { return "has_already_renewed" }
        // The first period of the next product has been charged early.
        if givesAccess(at: now), let nextBegins, nextBegins > now { return "will_change_product" }
        guard isLast, let renewal = line.renewal, renewal.renews,
            givesAccess(at: now) || status(at: now) == .retry
        else { return "will_not_renew" }
        if renewal.awaitsConsent { return "requires_price_increase_consent" }
        let product = current(at: now).transaction.productID
        if let next = renewal.nextProductID, next != product { return "will_change_product" }
        return "will_renew"
    }
}
