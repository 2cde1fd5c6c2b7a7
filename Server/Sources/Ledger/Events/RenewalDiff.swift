/// What happened to the next period: the difference between two renewal infos of the App Store.
///
/// Only renewal info about the current period counts. Info about the previous period says nothing
/// about the current one.
struct RenewalDiff {
    private let period: Timeline.Period
    private let old: Renewal?
    private let new: Renewal
    private let newAt: Instant
    /// The earlier renewal info, whichever period it is about.
    private let oldOfAnyPeriod: Renewal?
    private let told: PurchaseStatus?
    private let sofar: [Change]

    init?(_ before: Timeline, _ after: Timeline, told: PurchaseStatus?, sofar: [Change]) {
        guard let period = after.lastSubscriptionPeriod,
            let news = after.renewalInfo(about: period),
            news != before.renewal
                || before.lastSubscriptionPeriod?.isSame(as: period) != true
        else { return nil }
        let last = before.lastSubscriptionPeriod
        let isSame = last?.isSame(as: period) == true
        self.period = period
        self.told = told
        self.sofar = sofar
        (new, newAt) = (news.value, news.at)
        old = isSame ? last.flatMap { before.renewalInfo(about: $0)?.value } : nil
        oldOfAnyPeriod = before.renewal?.value
    }

    var changes: [Change] {
        [failure, autoRenew, commitment, product, offer, priceRise, extended].compactMap { $0 }
    }

    /// Whether one of the changes found so far reports the beginning of the current period.
    private var begins: Bool { sofar.contains { $0.kind.isBeginning } }

    private func change(_ kind: Change.Kind) -> Change {
        var change = Change(kind, at: newAt, of: period)
        change.offer = nil
        return change
    }

    private var failure: Change? {
        guard isCollecting(new), !(old.map(isCollecting) ?? false) else { return nil }
        return change(.billingFailed)
    }

    private func isCollecting(_ renewal: Renewal) -> Bool {
        guard renewal.willRenew || renewal.isRetrying else { return false }
        let grace = renewal.graceUntil.map { grace in period.openUntil.map { grace > $0 } ?? false }
        return renewal.isRetrying || grace ?? false
    }

    private var autoRenew: Change? {
        let was = old?.willRenew
        guard new.willRenew else {
            let byCustomer = new.ending == nil || new.ending == .cancelled
            let isRefunded = sofar.contains { $0.kind == .refunded || $0.kind == .revoked }
            let isNews = was ?? oldOfAnyPeriod?.willRenew ?? true
            return isNews && byCustomer && !isRefunded ? change(.renewalTurnedOff) : nil
        }
        if was == false { return change(.renewalTurnedOn) }
        let isKnown = begins || told?.willRenew == true
        return was == nil && !isKnown ? change(.renewalKnown) : nil
    }

    private var commitment: Change? {
        switch (oldOfAnyPeriod?.commitmentRenews, new.commitmentRenews) {
        case (false?, true?): change(.commitmentRenewalTurnedOn)
        case (true?, false?), (nil, false?): change(.commitmentRenewalTurnedOff)
        default: nil
        }
    }

    private var product: Change? {
        let (was, next) = (old.flatMap(otherProduct), otherProduct(new))
        guard was != next else { return nil }
        if let next {
            var change = change(.productChangeScheduled)
            (change.nextProduct, change.nextPrice) = (next, new.price)
            return change
        }
        return new.willRenew ? change(.productChangeCancelled) : nil
    }

    private func otherProduct(_ renewal: Renewal) -> ProductID? {
        guard renewal.willRenew, let next = renewal.renewsTo, next != period.product else {
            return nil
        }
        return next
    }

    /// The change if the customer has redeemed an offer for the next period. Ignores introductory
    /// offers: an introductory offer of several periods is redeemed only once, not in each period.
    private var offer: Change? {
        guard let offer = new.offer, offer.kind != .introductory, offer != period.payment.offer,
            offer != old?.offer
        else { return nil }
        var change = change(.offerRedeemed)
        (change.offer, change.nextPrice) = (offer, new.price)
        return change
    }

    private var priceRise: Change? {
        guard let rise = new.priceRise, rise != oldOfAnyPeriod?.priceRise else { return nil }
        var change = change(
            rise == .waiting ? .priceIncreaseAnnounced : .priceIncreaseAgreed)
        change.nextPrice = new.price
        return change
    }

    private var extended: Change? {
        guard let was = old?.renewsAt, let next = new.renewsAt, was < next, !isCollecting(new),
            !sofar.contains(where: { $0.kind == .extended })
        else { return nil }
        return change(.extended)
    }
}

extension Timeline {
    fileprivate var lastSubscriptionPeriod: Period? {
        periods.last { $0.payment.kind == .autoRenewable && !$0.isVoid && !$0.isAddition }
    }
}
