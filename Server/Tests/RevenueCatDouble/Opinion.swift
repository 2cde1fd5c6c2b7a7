import AppStoreFormats

/// An entitlement that somebody was given without a purchase.
struct PromotionalGrant: Hashable, Sendable {
    let lookupKey: String
    let begins: AppStoreDate
    let ends: AppStoreDate
    /// The last part of the product's name, such as `monthly`.
    let duration: String

    var product: String { "rc_promo_\(lookupKey)_\(duration)" }
    var id: String { StableHash.hex(product + "\(begins.milliseconds)", digits: 16) }
}

/// What RevenueCat believes about one customer at a moment. Both versions of the API show it.
struct Opinion: Sendable {
    let project: RevenueCatDouble.Project
    let now: AppStoreDate
    let lines: [PurchaseLine]
    let grants: [PromotionalGrant]

    /// The time during which one purchase or grant gives an entitlement.
    struct Support: Hashable, Sendable {
        let product: String
        let begins: AppStoreDate
        let ends: AppStoreDate?
        let graceUntil: AppStoreDate?

        func covers(_ now: AppStoreDate) -> Bool {
            begins <= now && (ends.map { now < $0 } ?? true)
        }
    }

    /// An entitlement that is or was given to the customer.
    struct Right: Hashable, Sendable {
        let lookupKey: String
        let isActive: Bool
        /// The purchase or grant that gives the entitlement longest.
        let support: Support
    }

    var subscriptions: [PurchaseLine] { lines.filter(\.isSubscription) }
    var oneTimePurchases: [PurchaseLine] { lines.filter { !$0.isSubscription } }
    var runs: [SubscriptionRun] { subscriptions.flatMap(SubscriptionRun.runs) }

    /// The entitlements that were ever given, by name.
    var rights: [Right] {
        project.entitlements.compactMap { entitlement in
            right(entitlement.lookupKey, by: supports(of: entitlement))
        }
    }

    private func right(_ name: String, by all: [Support]) -> Right? {
        let present = all.filter { $0.covers(now) }
        if let best = present.max(by: endsEarlier) {
            return Right(lookupKey: name, isActive: true, support: continued(best, by: all))
        }
        let past = all.filter { $0.begins <= now }
        return past.max(by: endsEarlier).map {
            Right(lookupKey: name, isActive: false, support: $0)
        }
    }

    /// The last of the purchases or grants that follow each other without a gap.
    private func continued(_ support: Support, by all: [Support]) -> Support {
        var last = support
        while let end = last.ends,
            let next = all.filter({ $0.begins <= end }).max(by: endsEarlier),
            endsEarlier(last, next)
        {
            last = next
        }
        return last
    }

    private func endsEarlier(_ one: Support, _ other: Support) -> Bool {
        guard let first = one.ends else { return false }
        guard let second = other.ends else { return true }
        return first < second
    }

    private func supports(of entitlement: RevenueCatDouble.Project.Entitlement) -> [Support] {
        let bought = lines.flatMap(\.spells).filter { spell in
            !spell.isEmpty && entitlement.products.contains(spell.transaction.productID)
                && (project.sandboxGivesAccess || !spell.transaction.isSandbox)
        }.map { spell in
            Support(
                product: spell.transaction.productID, begins: spell.begins, ends: spell.ends,
                graceUntil: spell.graceUntil)
        }
        let given = grants.filter { $0.lookupKey == entitlement.lookupKey }.map {
            Support(product: $0.product, begins: $0.begins, ends: $0.ends, graceUntil: nil)
        }
        return bought + given
    }

    /// The entitlements of a product.
    func entitlements(of product: String) -> [RevenueCatDouble.Project.Entitlement] {
        project.entitlements.filter { $0.products.contains(product) }
    }

    /// The answer in few words, to find out whether a fault is visible.
    var summary: Summary {
        let entitlements = rights.filter(\.isActive).map {
            "\($0.lookupKey) until \($0.support.ends.map { "\($0.milliseconds)" } ?? "for ever")"
        }
        let open = runs.filter { $0.givesAccess(at: now) }.map { run in
            let current = run.current(at: now)
            let transaction = current.transaction
            return [
                run.line.originalID, transaction.productID, run.status(at: now).rawValue,
                "\(transaction.isFamilyShared)", "\(transaction.isSandbox)",
                current.ends.map { "\($0.milliseconds)" } ?? "",
            ].joined(separator: " ")
        }
        let owned = oneTimePurchases.flatMap(\.spells).filter { $0.transaction.revoked == nil }
            .map {
                "\($0.transaction.id) \($0.transaction.isFamilyShared) \($0.transaction.isSandbox)"
            }
        return Summary(
            entitlements: Set(entitlements), purchases: Set(open + owned))
    }

    struct Summary: Hashable, Sendable {
        let entitlements: Set<String>
        let purchases: Set<String>
    }
}
