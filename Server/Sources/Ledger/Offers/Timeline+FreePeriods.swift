// Defines which periods are free and what follows them. This is the only definition for responses,
// events, webhooks, exports and reports.

extension Payment {
    /// Whether an offer makes the period free. A period with a price of 0 but without an offer
    /// counts as paid.
    package var isFree: Bool { terms == .trial }

    /// Whether the payment is for a period of a subscription.
    package var isSubscription: Bool {
        switch kind {
        case .autoRenewable: true
        case .unknown: until != nil
        case .consumable, .nonConsumable, .nonRenewing: false
        }
    }

    /// Whether the offer is the offer for new subscribers. A receipt may say only that a period is
    /// free.
    package var isIntroductory: Bool { offer.map { $0.kind == .introductory } ?? isFree }
}

extension Timeline {
    /// The number of a period among the charged periods, from 1. Added seats have the number of
    /// their period. Returns nil if another document describes the period better, or if this
    /// purchase does not contain the period.
    package func number(of period: Period) -> Int? {
        let charged = chargedPeriods
        let index =
            period.isAddition
            ? charged.lastIndex { $0.from <= period.from }
            : charged.firstIndex { $0.id == period.id }
        return index.map { $0 + 1 }
    }

    /// Whether a period is the first period after a free period, and is not free itself. A gap
    /// before it, a change of product, and the moment of its collection do not matter.
    package func convertsFreePeriod(_ period: Period) -> Bool {
        let charged = chargedPeriods
        guard !period.payment.isFree, let index = charged.firstIndex(where: { $0.id == period.id }),
            index > 0
        else { return false }
        return charged[index - 1].payment.isFree
    }

    /// The periods in the order in which they were charged. A renewal that was charged ahead and
    /// never began follows the period that it would have continued.
    private var chargedPeriods: [Period] {
        var unbegun = periods.filter { $0.isVoid && betterDocumented($0) == nil }
        let begun = periods.filter { !$0.isVoid && !$0.isAddition }
        guard !unbegun.isEmpty else { return begun }
        var charged: [Period] = []
        var next = begun[...]
        while let period = next.popFirst() {
            charged.append(period)
            while let until = charged.last?.payment.until,
                let following = unbegun.firstIndex(where: { $0.from == until })
            {
                charged.append(unbegun.remove(at: following))
            }
        }
        return charged
    }
}
