import Foundation

/// Decides what each row of a paywall does. Other files make the texts.
///
/// The rules, by kind of product. The first rule that applies counts.
///
/// - A product cannot be bought until the SDK knows that the customer does not have it.
/// - A plan that renews: *owned* while it is active, and while the App Store tries to charge it;
///   *pending* if the customer has chosen to change to it; *switch* while another plan of its group
///   is active; *included* if all access that the plan gives is open; otherwise *subscribe*.
/// - A term: *included* only if all access that the term gives was bought to keep; *renew* while
///   time remains, from any source; otherwise *subscribe*.
/// - A non-consumable: *owned*, *included*, otherwise *buy*.
/// - A consumable: *included* while the entitlement that gives everything is open; otherwise *buy*.
///
/// While a purchase of the product waits, the action is *pending* instead of an action that buys.
struct PaywallSituation {
    typealias Product = Perennial.Product
    typealias Subscription = Perennial.Subscription
    typealias Access = Perennial.Access

    /// The key of a placement's metadata that names the entitlement which includes everything.
    static let everythingKey = "everything"

    let offering: Perennial.Offering
    let snapshot: Perennial.Snapshot
    let date: Date

    init(_ offering: Perennial.Offering, _ snapshot: Perennial.Snapshot, at date: Date) {
        self.offering = offering
        self.snapshot = snapshot
        self.date = date
    }

    /// What a row does, and what it says about the product.
    struct Standing: Hashable {
        var action: Perennial.PaywallContent.Action
        var status: Status?

        init(_ action: Perennial.PaywallContent.Action, _ status: Status? = nil) {
            self.action = action
            self.status = status
        }
    }

    enum Status: Hashable {
        case renews(Date)
        case ends(Date)
        case paidUntil(Date)
        case changes(to: String, Date)
        case begins(Date)
        case endsAfterMonth(Int)
        case familyShared
        case assigned
        case paymentProblem
        case waiting(Perennial.WaitingPurchase.Reason)
        case checking
    }

    func standing(of product: Product) -> Standing {
        let standing =
            switch product.kind {
            case .renewing: planStanding(of: product)
            case .term: termStanding(of: product)
            case .nonConsumable: keptStanding(of: product)
            case .consumable: Standing(isEverythingOpen ? .included : .buy)
            default: Standing(.unavailable)
            }
        let buys: [Perennial.PaywallContent.Action] = [.buy, .subscribe, .renew, .switchPlan]
        guard buys.contains(standing.action) else { return standing }
        if let waiting = waiting(product) { return Standing(.pending, .waiting(waiting.reason)) }
        return isKnown(product) ? standing : Standing(.unavailable, .checking)
    }

    /// Whether the access that a product gives is known for this customer.
    private func isKnown(_ product: Product) -> Bool {
        let rights = product.entitlements.union(everything.map { [$0] } ?? [])
        return rights.isEmpty ? snapshot.isKnown : rights.allSatisfy { snapshot[$0].isKnown }
    }

    /// The waiting purchase of a product. Nil for a consumable that is paid for and waits only for
    /// the server, because such a consumable can be bought again.
    private func waiting(_ product: Product) -> Perennial.WaitingPurchase? {
        snapshot.waiting.first {
            $0.product == product.id && !(product.kind == .consumable && $0.reason == .server)
        }
    }

    // MARK: - Plans that renew

    private static let runningStates: Set<Perennial.AccessState> = [
        .paid, .trial, .offer, .grace, .unconfirmed,
    ]

    private func planStanding(of product: Product) -> Standing {
        if let held = held(product) {
            if held.isOfAnother {
                return Standing(.included, held.isFamilyShared ? .familyShared : .assigned)
            }
            return Standing(.owned, status(of: held))
        }
        let others = othersInGroup(of: product)
        if let leaving = others.first(where: { $0.renewsTo == product.id }) {
            return Standing(.pending, leaving.until.map(Status.begins))
        }
        if !others.isEmpty { return Standing(.switchPlan) }
        return Standing(isCovered(product) ? .included : .subscribe)
    }

    /// The subscription to a product that is active, or that the App Store still tries to charge.
    /// Nil if there is no such subscription.
    private func held(_ product: Product) -> Subscription? {
        let held = snapshot.subscriptions.filter { $0.product == product.id && isHeld($0) }
        return held.first { $0.state != .retry && !$0.isOfAnother }
            ?? held.first { $0.state != .retry } ?? held.first
    }

    private func isHeld(_ subscription: Subscription) -> Bool {
        subscription.state == .retry
            || Self.runningStates.contains(subscription.state) && !hasLapsed(subscription)
    }

    /// Whether the period has ended since the state was reported, and its access is shut.
    private func hasLapsed(_ subscription: Subscription) -> Bool {
        guard let until = subscription.until, until <= date,
            let rights = product(subscription.product)?.entitlements, !rights.isEmpty
        else { return false }
        return rights.allSatisfy { snapshot[$0].isKnown && !snapshot[$0].isActive }
    }

    /// The customer's own subscriptions to other products of the group. If the group is unknown,
    /// the customer's subscriptions that give the same access as the product.
    private func othersInGroup(of product: Product) -> [Subscription] {
        snapshot.subscriptions.filter { subscription in
            guard subscription.product != product.id, isHeld(subscription),
                !subscription.isOfAnother
            else { return false }
            if let group = product.group, let other = self.product(subscription.product)?.group {
                return group == other
            }
            return product.entitlements.contains {
                snapshot[$0].product == subscription.product
            }
        }
    }

    private func status(of subscription: Subscription) -> Status? {
        if [.grace, .retry].contains(subscription.state) { return .paymentProblem }
        if let months = lastMonth(of: subscription) { return .endsAfterMonth(months) }
        // While access is held open after a period's end, the period's end is in the past.
        guard let until = subscription.until, until > date else { return nil }
        guard let willRenew = subscription.willRenew else { return .paidUntil(until) }
        guard willRenew else { return .ends(until) }
        if let next = subscription.renewsTo, next != subscription.product {
            return .changes(to: product(next)?.name ?? next.rawValue, until)
        }
        return .renews(until)
    }

    /// The number of months after which a commitment ends. Nil if there is no commitment, or if
    /// another commitment follows. Also nil in the last month, which ends with the period.
    func lastMonth(of subscription: Subscription) -> Int? {
        guard let commitment = subscription.commitment, commitment.renews == false,
            commitment.month < commitment.months
        else { return nil }
        return commitment.months
    }

    // MARK: - Terms and non-consumables

    private func termStanding(of product: Product) -> Standing {
        if isKeptForGood(product) { return Standing(.included) }
        let end = termEnd(of: product)
        if end != nil || isAnyOpen(product) || isEverythingOpen {
            return Standing(.renew, end.map(Status.ends))
        }
        return Standing(.subscribe)
    }

    /// The end of the last running term that gives the same access as a product.
    private func termEnd(of product: Product) -> Date? {
        snapshot.terms.filter { term in
            term.product == product.id
                || self.product(term.product).map {
                    !$0.entitlements.isDisjoint(with: product.entitlements)
                }
                    ?? false
        }.compactMap(\.until).filter { $0 > date }.max()
    }

    private func keptStanding(of product: Product) -> Standing {
        let isOwned = snapshot.owned.contains { $0.product == product.id && $0.revoked == nil }
        if isOwned { return Standing(.owned) }
        return Standing(isCovered(product) ? .included : .buy)
    }

    // MARK: - Access

    /// The entitlement that includes everything in the offering. Nil if the developer has named no
    /// such entitlement.
    var everything: Perennial.EntitlementID? {
        offering.metadata[Self.everythingKey]?.text.map(Perennial.EntitlementID.init(rawValue:))
    }

    private var isEverythingOpen: Bool { everything.map { snapshot[$0].isActive } ?? false }

    private func isCovered(_ product: Product) -> Bool {
        isEverythingOpen
            || !product.entitlements.isEmpty
                && product.entitlements.allSatisfy { snapshot[$0].isActive }
    }

    private func isAnyOpen(_ product: Product) -> Bool {
        product.entitlements.contains { snapshot[$0].isActive }
    }

    func isKeptForGood(_ product: Product) -> Bool {
        !product.entitlements.isEmpty
            && product.entitlements.allSatisfy {
                snapshot[$0].isActive && snapshot[$0].state == .owned
            }
    }

    func product(_ id: Perennial.ProductID) -> Product? {
        offering.products.first { $0.id == id }
    }
}

extension Perennial.Subscription {
    /// Whether another person pays for the subscription and decides about it.
    var isOfAnother: Bool { [.familyShared, .assigned].contains(ownership) }
}
