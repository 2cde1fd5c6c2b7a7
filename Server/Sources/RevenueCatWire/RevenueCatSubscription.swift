import Ledger
import RevenueCatWebhooks

/// The latest period of a subscription to one product, or a grant, in the form that RevenueCat's
/// SDK reads.
struct RevenueCatSubscription {
    private enum Source {
        case payment(Payment, of: PurchaseID)
        case grant(in: Environment)
    }

    let from: Instant
    /// The end of access. Nil if access never ends.
    private(set) var until: Instant?
    /// The end of the grace period. Nil except during a grace period.
    let graceUntil: Instant?
    private let source: Source
    private let firstFrom: Instant
    /// When the server learned that renewal is off.
    private let unsubscribedAt: Instant?
    /// When the server learned that a renewal could not be charged.
    private let billingFailedAt: Instant?

    /// - Parameter until: the end of access. After a refund, this is before the period's own end.
    /// - Parameter access: the access that the purchase gives. Nil if another period of the
    ///   purchase decides about it.
    init(
        _ period: Timeline.Period, of timeline: Timeline, until: Instant?, _ access: Access? = nil
    ) {
        from = period.from
        self.until = until
        source = .payment(period.payment, of: timeline.purchase)
        firstFrom = timeline.periods.first { !$0.isVoid }?.from ?? period.from
        graceUntil = access?.state == .grace ? access?.until : nil
        let news = access == nil ? nil : timeline.renewalInfo(about: period)
        let isFailing =
            access?.state == .grace || access?.state == .retry || news?.value.ending == .billing
        billingFailedAt = isFailing ? news?.at ?? until : nil
        let isOff = access?.willRenew == false && !isFailing
        unsubscribedAt = isOff ? news?.at ?? until ?? period.from : nil
    }

    init(_ grant: Grant, in environment: Environment, at now: Instant) {
        from = grant.from
        until = grant.isOpen(at: now) ? grant.end : now.past(grant.end)
        source = .grant(in: environment)
        firstFrom = grant.from
        (graceUntil, unsubscribedAt, billingFailedAt) = (nil, nil, nil)
    }

    var isOfAppStore: Bool {
        if case .grant = source { false } else { true }
    }

    func isOpen(at now: Instant) -> Bool { until.map { $0 > now } ?? true }

    /// Whether this subscription is shown instead of another subscription, if several purchases are
    /// for the same product.
    func outranks(_ other: Self, at now: Instant) -> Bool {
        guard isOpen(at: now) == other.isOpen(at: now) else { return isOpen(at: now) }
        guard let until else { return true }
        guard let theirs = other.until else { return false }
        return (until, from) >= (theirs, other.from)
    }

    /// Moves the end to a later end. An entitlement may stay open for longer than its subscription
    /// alone would.
    mutating func extend(to end: Instant?) {
        guard let end, let until else {
            until = nil
            return
        }
        self.until = max(until, end)
    }

    func value(managementURL: String) -> RevenueCatValue {
        switch source {
        case .payment(let payment, let purchase):
            value(
                [
                    "is_sandbox": .bool(purchase.environment == .sandbox),
                    "management_url": .string(managementURL),
                    "ownership_type": .string(payment.ownership.revenueCatWord),
                    "period_type": .string(payment.terms.revenueCatWord),
                    "price": .price(payment.charge),
                    "refunded_at": .time(payment.refundedAt), "store": .string("app_store"),
                    "store_transaction_id": .string(payment.transaction.rawValue),
                ])
        case .grant(let environment):
            value(
                [
                    "is_sandbox": .bool(environment == .sandbox), "management_url": .null,
                    "ownership_type": .string("PURCHASED"), "period_type": .string("normal"),
                    "price": .null, "refunded_at": .null, "store": .string("promotional"),
                    "store_transaction_id": .null,
                ])
        }
    }

    /// Adds the members that subscriptions and grants have in common, and sorts all members by
    /// name.
    private func value(_ own: [String: RevenueCatValue]) -> RevenueCatValue {
        let common: [String: RevenueCatValue] = [
            "auto_resume_date": .null, "billing_issues_detected_at": .time(billingFailedAt),
            "display_name": .null, "expires_date": .time(until),
            "grace_period_expires_date": .time(graceUntil),
            "original_purchase_date": .time(firstFrom), "purchase_date": .time(from),
            "unsubscribe_detected_at": .time(unsubscribedAt),
        ]
        return .object(
            common.merging(own) { _, own in own }.sorted { $0.key < $1.key }.map {
                .init($0.key, $0.value)
            })
    }
}

// MARK: - Words

extension Ownership {
    /// RevenueCat's name of the ownership. A seat that another customer pays for does not count as
    /// family sharing.
    fileprivate var revenueCatWord: String {
        switch self {
        case .purchased, .assigned: "PURCHASED"
        case .familyShared: "FAMILY_SHARED"
        }
    }
}

extension Terms {
    /// RevenueCat's name of the terms. RevenueCat documents `trial` and `intro` only for
    /// introductory offers, and has no names for other offers.
    fileprivate var revenueCatWord: String {
        switch self {
        case .trial: "trial"
        case .offer: "intro"
        case .full: "normal"
        }
    }
}

extension Payment {
    fileprivate var refundedAt: Instant? {
        guard let revocation, revocation.kind == .refund, !isReplacedByUpgrade else { return nil }
        return revocation.at
    }
}

extension Instant {
    /// The moment, rounded down to a whole second.
    var wholeSeconds: Instant {
        let rest = ((milliseconds % 1000) + 1000) % 1000
        return Instant(milliseconds: milliseconds - rest)
    }

    /// The given end, moved back if necessary, so that it is before this moment even in whole
    /// seconds.
    func past(_ end: Instant?) -> Instant {
        let last = wholeSeconds - .seconds(1)
        return min(end ?? last, last)
    }
}

extension RevenueCatValue {
    /// RFC 3339 with whole seconds, such as `2026-03-01T12:00:00Z`.
    static func time(_ moment: Instant?) -> Self {
        .text(moment.map { "\($0.description.prefix(while: { $0 != "." }))Z" })
    }

    /// The price as an object. Null if the App Store has not reported the price.
    static func price(_ money: Money?) -> Self {
        guard let money else { return .null }
        return .object([
            .init("amount", .number(Double(money.milliunits) / 1000)),
            .init("currency", .string(money.currency)),
        ])
    }
}
