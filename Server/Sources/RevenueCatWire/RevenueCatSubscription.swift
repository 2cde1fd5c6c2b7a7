import Ledger
import RevenueCatWebhooks

/// The latest period of a subscription to one product, or a grant, as RevenueCat's SDK reads it.
struct RevenueCatSubscription {
    private enum Source {
        case payment(Payment, of: PurchaseID)
        case grant(in: Environment)
    }

    let from: Instant
    /// The end of access. Nil if there is none.
    private(set) var until: Instant?
    /// Set during a grace period only.
    let graceUntil: Instant?
    private let source: Source
    private let firstFrom: Instant
    /// When the server learned that renewal is off.
    private let unsubscribedAt: Instant?
    /// When the server learned that a renewal could not be charged.
    private let billingFailedAt: Instant?

    /// - Parameter until: the end of access, which is before the period's own end after a refund.
    /// - Parameter access: set if this is the period that decides about the purchase's access.
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

    /// Whether it stands for a product that several purchases are about.
    func outranks(_ other: Self, at now: Instant) -> Bool {
        guard isOpen(at: now) == other.isOpen(at: now) else { return isOpen(at: now) }
        guard let until else { return true }
        guard let theirs = other.until else { return false }
        return (until, from) >= (theirs, other.from)
    }

    /// An entitlement may stay open for longer than the subscription by itself.
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

    /// The members that both kinds have, sorted with the others by their names.
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
    /// A seat that another customer pays for is no family sharing.
    fileprivate var revenueCatWord: String {
        switch self {
        case .purchased, .assigned: "PURCHASED"
        case .familyShared: "FAMILY_SHARED"
        }
    }
}

extension Terms {
    /// RevenueCat documents `trial` and `intro` for introductory offers only, and nothing for
    /// others.
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
    /// The second in which it is.
    var wholeSeconds: Instant {
        let rest = ((milliseconds % 1000) + 1000) % 1000
        return Instant(milliseconds: milliseconds - rest)
    }

    /// An end that is before this moment, also in whole seconds.
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

    /// Null if the App Store has not said it.
    static func price(_ money: Money?) -> Self {
        guard let money else { return .null }
        return .object([
            .init("amount", .number(Double(money.milliunits) / 1000)),
            .init("currency", .string(money.currency)),
        ])
    }
}
