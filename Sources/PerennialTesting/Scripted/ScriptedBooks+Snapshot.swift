internal import AccessRules
internal import Perennial
internal import PerennialContract

// MARK: - The snapshot

extension ScriptedBooks {
    private var evidence: Evidence {
        Evidence(
            person: person,
            // The server has answered, so everything is known, even about entitlements that were
            // never bought.
            server: ServerEvidence(
                asOf: now, isLive: true, offlineUntil: nil, rights: rights,
                verdicts: [:]),
            store: StoreEvidence(
                transactions: Dictionary(uniqueKeysWithValues: transactions.map { ($0.id, $0) }),
                statuses: statuses, answeredAt: now, isTrusted: true),
            meanings: Dictionary(
                products.map {
                    (
                        $0.id.rawValue,
                        ProductMeaning(entitlements: Set($0.entitlements.map(\.rawValue)))
                    )
                }, uniquingKeysWith: { first, _ in first }),
            termEnds: terms.ends(of: transactions), serverAnsweredAt: now, now: now,
            holdTimes: Evidence.HoldTimes(answered: 0, silent: 0))
    }

    var statuses: [String: StoreStatus] {
        renewals.reduce(into: [:]) { statuses, entry in
            let (id, renewal) = entry
            guard let last = transactions.last(where: { $0.originalID == id }) else { return }
            let isPromised = last.promisedMonth != nil
            let change = isPromised ? nil : renewal.change?.product
            statuses[id] = StoreStatus(
                originalID: id, state: renewal.state, willRenew: isPromised || renewal.isOn,
                renewsTo: (change ?? last.product).rawValue,
                commitmentRenews: last.details.commitment == nil ? nil : renewal.isOn,
                seatsAtRenewal: seatsAtRenewal(after: last),
                signedAt: renewal.signedAt, isConfirmed: true)
        }
    }

    /// The rules of terms. All terms are in one chain, so they follow each other.
    private var terms: TermRules {
        let lengths = products.filter { $0.kind == .term }.compactMap { product in
            product.period.map { (product.id.rawValue, $0.length) }
        }
        return TermRules(products: Dictionary(lengths) { first, _ in first }, clock: .utc)
    }

    /// The snapshot of an app that has received every change.
    func snapshot() -> Perennial.Snapshot {
        let decisions = AccessRules.decisions(by: evidence)
        var access: [Perennial.EntitlementID: Perennial.Access] = [:]
        for (name, decision) in decisions {
            let id = Perennial.EntitlementID(rawValue: name)
            access[id] = Perennial.Access(decision, of: id)
        }
        let own = transactions.filter(isTheirs)
        return Perennial.Snapshot(
            customer: customer, access: access, subscriptions: subscriptions(own),
            terms: terms.terms(of: own).map {
                Perennial.Term(
                    product: .init(rawValue: $0.productID), from: $0.from.date,
                    until: $0.until.date)
            },
            owned: own.filter { $0.kind == .nonConsumable }.map {
                Perennial.OwnedProduct(
                    product: .init(rawValue: $0.productID), purchased: $0.purchasedAt.date,
                    revoked: $0.revokedAt?.date)
            },
            wallets: (wallets[customer.id] ?? [:]).mapValues { Perennial.Wallet(balance: $0) },
            waiting: waiting, serverAnswered: now.date, storeAnswered: now.date)
    }

    private func subscriptions(_ own: [StoreTransaction]) -> [Perennial.Subscription] {
        let bought = Dictionary(grouping: own.filter { $0.kind == .renewing }, by: \.originalID)
        let statuses = statuses
        return bought.values.compactMap(\.latestPeriod)
            .sorted { ($0.purchasedAt, $0.id) < ($1.purchasedAt, $1.id) }
            .map { transaction in
                var shown = Perennial.Subscription(
                    transaction, statuses[transaction.originalID],
                    seats: transactions.seats(inPeriodOf: transaction))
                shown.seats?.members = groups[transaction.originalID]?.members.count ?? 0
                return shown
            } + (memberships[customer.id] ?? []).map(\.subscription)
    }

    /// The entitlements that the customer has by grants, and by seats in other people's groups.
    private var rights: [String: ServerEvidence.Right] {
        (grants[customer.id] ?? [:]).merging(seatRights) { given, _ in given }
    }

    func explain(
        _ entitlement: Perennial.EntitlementID, _ heard: Perennial.Snapshot
    ) -> Perennial.Explanation {
        let decision = AccessRules.decision(on: entitlement.rawValue, by: evidence)
        return Perennial.Explanation(
            access: heard[entitlement], rule: decision.rule,
            steps: decision.steps.map {
                Perennial.Explanation.Step(
                    rule: $0.rule, basis: .store, purchase: $0.originalTransactionID, text: $0.text)
            })
    }

    // MARK: - Restoring purchases

    var ownRestoration: Perennial.Restoration.Outcome {
        let bought = transactions.filter { $0.kind != .consumable }
        if bought.isEmpty { return .nothingFound }
        return bought.contains(where: isTheirs) ? .nothingNew : .refused
    }

    var ownPreview: Perennial.RestorePreview {
        Perennial.RestorePreview(
            items: transactions.filter { $0.kind != .consumable && $0.id == $0.originalID }.map {
                Perennial.RestorePreview.ShownPurchase(
                    purchase: $0.originalID, product: .init(rawValue: $0.productID),
                    isActive: $0.revokedAt == nil, effect: isTheirs($0) ? .nothing : .refused)
            })
    }
}
