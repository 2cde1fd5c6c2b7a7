import Engine
import Ledger
import PerennialContract

private typealias Wallet = PerennialContract.Wallet

extension Customer {
    /// Converts the engine's customer state to the contract's form.
    ///
    /// - Parameter showsAllIDs: whether the aliases include those that apps may not see.
    init(_ state: CustomerState, showsAllIDs: Bool = true) {
        self.init(
            customerID: state.id.rawValue,
            aliases: (showsAllIDs ? state.aliases : state.aliasesForApps).map(\.rawValue),
            environment: StoreEnvironment(state.environment), asOf: Timestamp(state.asOf),
            entitlements: Dictionary(
                uniqueKeysWithValues: state.entitlements.map { entitlement, right in
                    (entitlement.rawValue, PerennialContract.Entitlement(right))
                }),
            subscriptions: state.purchases.compactMap { Subscription($0, at: state.asOf) },
            nonRenewing: state.displayedTerms.map {
                NonRenewing($0, at: state.asOf, by: state.clock)
            }
                + state.termsWithoutLength.map { NonRenewing($0, at: state.asOf) },
            oneTime: state.purchases.flatMap { purchase in
                purchase.timeline.payments { $0 == .nonConsumable || $0 == .consumable }
                    .map { OneTimePurchase($0) }
            },
            wallets: Dictionary(
                uniqueKeysWithValues: state.balances.map { currency, balance in
                    (currency.rawValue, Wallet(balance: balance))
                }), purchases: state.verdicts,
            unlistedProducts: PerennialContract.UnlistedProduct.list(state.unlistedProducts),
            accountToken: state.accountToken?.rawValue, serverTime: Timestamp(state.asOf))
    }

    /// Adds the owner of each posted purchase. These verdicts replace the verdicts in the
    /// customer's state after the posting.
    mutating func add(_ posted: [PurchaseVerdict]) {
        let own = Dictionary(purchases.map { ($0.purchaseID, $0) }) { one, _ in one }
        let posted = posted.map { verdict in
            var verdict = verdict
            verdict.unlistedProductID = own[verdict.purchaseID]?.unlistedProductID
            return verdict
        }
        let ids = Set(posted.map(\.purchaseID))
        purchases = purchases.filter { !ids.contains($0.purchaseID) } + posted
    }
}

extension CustomerState {
    /// The owner of each of the customer's purchases.
    fileprivate var verdicts: [PurchaseVerdict] {
        var unlisted: [PurchaseID: MissingListing] = [:]
        for purchase in purchases { unlisted[purchase.timeline.purchase] = purchase.unlisted }
        return ownerships.map { ownership in
            var verdict = PurchaseVerdict(ownership)
            verdict.unlistedProductID = unlisted[ownership.purchase]?.product.rawValue
            return verdict
        }
    }
}

extension PerennialContract.UnlistedProduct {
    init(_ product: MissingListing) {
        self.init(
            productID: product.product.rawValue, line: product.line, remedy: product.remedy)
    }

    /// Converts the missing products. Returns nil if there are none.
    static func list(_ products: [MissingListing]) -> [Self]? {
        products.isEmpty ? nil : products.map { Self($0) }
    }
}

extension PurchaseVerdict {
    init(_ ownership: OwnershipResult) {
        let (verdict, why): (Word, OwnershipClaim.Refusal?) =
            switch ownership.kind {
            case .theirs: (.theirs, nil)
            case .linked: (.linked, nil)
            case .moved: (.moved, nil)
            case .shared: (.shared, nil)
            case .another(let why): (.another, why)
            case .refused(let why): (.refused, why)
            }
        self.init(
            purchaseID: ownership.purchase.description,
            originalTransactionID: ownership.purchase.original.rawValue, verdict: verdict,
            why: why?.rawValue, owner: ownership.owner.map { OwnerKind($0) })
    }
}

extension OwnerKind {
    init(_ kind: CustomerKind) {
        switch kind {
        case .person: self = .person
        case .anonymous: self = .anonymous
        }
    }
}

extension PerennialContract.Entitlement {
    init(_ right: EntitlementStatus) {
        self.init(
            active: right.isOpen, until: right.until.map { Timestamp($0) },
            state: AccessState(right.state), reason: right.reason.sentence,
            willRenew: right.willRenew, productID: right.product?.rawValue,
            purchaseID: right.purchase?.description, grantID: right.grant?.rawValue)
    }
}

extension Subscription {
    /// Returns nil if the purchase is not a subscription, or if none of its periods has begun.
    fileprivate init?(_ state: PurchaseState, at now: Instant) {
        guard let access = state.access, let period = state.timeline.period(at: now),
            period.payment.kind == .autoRenewable
        else { return nil }
        let renewal = state.timeline.renewalInfo(about: period)?.value
        let purchase = state.timeline.purchase
        self.init(
            purchaseID: purchase.description, productID: period.product.rawValue,
            originalTransactionID: purchase.original.rawValue, state: AccessState(access.state),
            period: Period(period), willRenew: access.willRenew,
            renewsTo: renewal?.willRenew == true ? renewal?.renewsTo?.rawValue : nil,
            graceUntil: access.graceEnd(of: period, in: state.timeline).map { Timestamp($0) },
            price: period.payment.charge.map { Money($0) },
            commitment: period.payment.commitment.map {
                Commitment($0, renews: access.isOver ? false : renewal?.commitmentRenews)
            },
            ownership: Ownership(period.payment.ownership),
            environment: StoreEnvironment(purchase.environment),
            seat: state.timeline.seat.map { Seat($0) }, seats: state.seats.map { Seats($0) })
    }
}

extension Subscription.Seat {
    fileprivate init(_ seat: MemberSeat) {
        self.init(claimID: seat.claim.rawValue, standing: SeatStanding(seat.standing))
    }
}

extension Subscription.Seats {
    fileprivate init(_ seats: SeatCount) {
        self.init(count: seats.count, atRenewal: seats.atRenewal, claimed: seats.claimed)
    }
}

extension Subscription.Period {
    fileprivate init(_ period: Timeline.Period) {
        self.init(from: Timestamp(period.from), until: period.end.map { Timestamp($0) })
    }
}

extension Access {
    /// The end of the grace period. Set during the grace period, and afterwards until the next
    /// payment.
    fileprivate func graceEnd(of period: Timeline.Period, in timeline: Timeline) -> Instant? {
        switch state {
        case .grace, .retry, .expired: timeline.graceEnd(after: period)
        case .paid, .trial, .offer, .unconfirmed, .granted, .owned, .refunded, .revoked: nil
        }
    }

    /// Whether access has ended, and no payment for it is expected.
    fileprivate var isOver: Bool { state == .expired || state == .refunded || state == .revoked }
}

extension Subscription.Commitment {
    fileprivate init(_ commitment: Ledger.Commitment, renews: Bool?) {
        self.init(
            month: commitment.month, months: commitment.months,
            until: commitment.until.map { Timestamp($0) }, renews: renews)
    }
}

extension OneTimePurchase {
    fileprivate init(_ payment: Payment) {
        self.init(
            productID: payment.product.rawValue, purchasedAt: Timestamp(payment.from),
            revokedAt: payment.revocation.map { Timestamp($0.at) })
    }
}

extension NonRenewing {
    fileprivate init(_ term: Term, at now: Instant, by clock: WallClock) {
        self.init(
            productID: term.product.rawValue, from: Timestamp(term.from),
            until: Timestamp(term.until), daysRemaining: term.daysRemaining(at: now, by: clock))
    }

    // The end is unknown unless the purchase was revoked: neither the App Store nor the
    // configuration says how long the purchase lasts.
    fileprivate init(_ payment: Payment, at now: Instant) {
        let end = payment.revocation.map { max(payment.from, $0.at) }
        self.init(
            productID: payment.product.rawValue, from: Timestamp(payment.from),
            until: end.map { Timestamp($0) }, daysRemaining: end.flatMap { $0 <= now ? 0 : nil })
    }
}

// MARK: - Words

extension Timestamp {
    init(_ instant: Instant) { self.init(milliseconds: instant.milliseconds) }
}

extension PerennialContract.Money {
    init(_ money: Ledger.Money) {
        self.init(milliunits: money.milliunits, currency: money.currency)
    }
}

extension StoreEnvironment {
    init(_ environment: Ledger.Environment) {
        switch environment {
        case .production: self = .production
        case .sandbox: self = .sandbox
        }
    }
}

extension PerennialContract.Ownership {
    init(_ ownership: Ledger.Ownership) {
        switch ownership {
        case .purchased: self = .purchased
        case .familyShared: self = .familyShared
        case .assigned: self = .assigned
        }
    }
}

extension AccessState {
    init(_ state: Access.State) {
        switch state {
        case .paid: self = .paid
        case .trial: self = .trial
        case .offer: self = .offer
        case .grace: self = .grace
        case .unconfirmed: self = .unconfirmed
        case .granted: self = .granted
        case .owned: self = .owned
        case .retry: self = .retry
        case .expired: self = .expired
        case .refunded: self = .refunded
        case .revoked: self = .revoked
        }
    }
}
