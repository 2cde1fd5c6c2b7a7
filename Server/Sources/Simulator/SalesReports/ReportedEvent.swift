import AppStoreFormats

/// Something that happened to a subscription, as the subscription event report names it.
struct ReportedEvent: Sendable {
    let at: AppStoreDate
    let event: SalesReportEvent
    /// The index of the charge that the event began, ended or refunded.
    let place: Int
    var cancellationReason: SalesReportCancellationReason?
    /// The days from the beginning of the period to the moment at which renewal was switched off.
    var daysBeforeCanceling: Int64?
    /// The days from the end of the subscription to its return.
    var daysCanceled: Int64?
    /// The days from the end of the paid period to the payment in the grace period.
    var daysRecovered: Int64?

    init(_ event: SalesReportEvent, at moment: AppStoreDate, place: Int) {
        self.event = event
        at = moment
        self.place = place
    }

    init(_ name: String, at moment: AppStoreDate, place: Int) {
        self.init(SalesReportEvent(rawValue: name), at: moment, place: place)
    }
}

extension ReportedPurchase {
    /// All events of a subscription, in no particular order. A cancellation is dated at the end of
    /// the period, not when renewal was switched off (App Store Connect Help, "Subscription
    /// events").
    var events: [ReportedEvent] {
        let begun = charges.indices.filter {
            charges[$0].begins && charges[$0].transaction.beginsPeriod
        }
        let starts = begun.indices.map { index in
            chargeEvent(begun[index], after: index > 0 ? begun[index - 1] : nil)
        }
        return starts + refundEvents + history.steps.indices.compactMap(ending)
    }

    // MARK: - Charges

    private func chargeEvent(_ place: Int, after previous: Int?) -> ReportedEvent {
        let charge = charges[place]
        guard let previous else {
            return ReportedEvent(charge.transaction.offer.startEvent, at: charge.at, place: place)
        }
        let old = charges[previous]
        let change = old.transaction.product.change(to: charge.transaction.product)
        let trouble = stage(before: charge.at)
        if old.transaction.isUpgraded {
            let name = (change ?? "Crossgrade") + old.transaction.offer.introductorySuffix
            return ReportedEvent(name, at: charge.at, place: place)
        }
        if let trouble {
            let from = " from \(trouble == .grace ? "Grace Period" : "Billing Retry")"
            var event = ReportedEvent((change ?? "Renewal") + from, at: charge.at, place: place)
            if trouble == .grace {
                event.daysRecovered = charge.transaction.purchased.days(until: charge.at)
            }
            return event
        }
        guard charge.transaction.reason == .renewal else {
            return returning(place, after: old.transaction, change)
        }
        let name = renewalName(from: old.transaction.offer, to: charge.transaction.offer, change)
        return ReportedEvent(name, at: charge.at, place: place)
    }

    /// The stage of trouble, grace or retry, in which the subscription was just before a moment.
    /// Nil if it was in neither stage.
    private func stage(before moment: AppStoreDate) -> ChainStep.Stage? {
        switch history.steps.last(where: { $0.at < moment })?.stage {
        case .grace: .grace
        case .retry: .retry
        default: nil
        }
    }

    /// The event of a purchase after the subscription had ended.
    private func returning(
        _ place: Int, after old: StoreTransaction, _ change: String?
    ) -> ReportedEvent {
        let charge = charges[place]
        let name =
            charge.transaction.offer.map { "Reactivation to \($0.reportedName)" }
            ?? "Reactivate" + (change.map { " with \($0)" } ?? "")
        var event = ReportedEvent(name, at: charge.at, place: place)
        event.daysCanceled = old.reportedEnd.days(until: charge.at)
        return event
    }

    private func renewalName(
        from old: StoreKitOffer?, to new: StoreKitOffer?, _ change: String?
    ) -> String {
        switch (old, new) {
        case (nil, nil): return change ?? SalesReportEvent.renew.rawValue
        case (let old?, let new?) where old == new: return SalesReportEvent.renew.rawValue
        case (let old, let new?):
            return "\(new.reportedName) from \(old?.reportedName ?? "Paid Subscription")"
        case (let old?, nil):
            return "\(change ?? "Paid Subscription") from \(old.reportedName)"
        }
    }

    // MARK: - Refunds and ends

    /// The events of refunds. The amount that an upgrade refunds is not an event, because the
    /// customer did not ask for it. A refund that was reversed before the upgrade is an event.
    private var refundEvents: [ReportedEvent] {
        charges.indices.flatMap { place in
            let isUpgraded = charges[place].transaction.isUpgraded
            return charges[place].refunds
                .filter { $0.amount > 0 && !$0.isOfSeats && ($0.reversed != nil || !isUpgraded) }
                .map { ReportedEvent(.refund, at: $0.at, place: place) }
        }
    }

    /// The event of a recorded step: the beginning of grace or retry, or the end of the
    /// subscription. Nil for other steps.
    private func ending(_ index: Int) -> ReportedEvent? {
        let step = history.steps[index]
        guard index > 0, let place = charges.lastIndex(where: { $0.at <= step.at }) else {
            return nil
        }
        let before = history.steps[index - 1].stage
        guard before != step.stage else { return nil }
        let isIntroductory = charges[place].transaction.offer?.type == .introductory
        let from = isIntroductory ? "Introductory Offer" : "Paid Subscription"
        switch step.stage {
        case .active, .revoked: return nil
        case .grace: return ReportedEvent("Grace Period from \(from)", at: step.at, place: place)
        case .retry:
            let from = before == .grace ? "Grace Period" : from
            return ReportedEvent("Billing Retry from \(from)", at: step.at, place: place)
        case .ended(let intent):
            guard let event = cancelEvent(place, from: before) else { return nil }
            var cancellation = ReportedEvent(event, at: step.at, place: place)
            cancellation.cancellationReason = intent.reportedReason
            if intent == .cancelled {
                cancellation.daysBeforeCanceling = daysBeforeCanceling(index, place)
            }
            return cancellation
        }
    }

    private func cancelEvent(_ place: Int, from stage: ChainStep.Stage) -> SalesReportEvent? {
        switch stage {
        case .grace: return .canceledFromGracePeriod
        case .retry: return .canceledFromBillingRetry
        case .active:
            let start = charges[place].transaction.purchased
            let isExtended = history.extensions.contains { $0 >= start }
            return isExtended ? .canceledAfterRenewalExtension : .cancel
        // The refund has already ended the subscription.
        case .revoked, .ended: return nil
        }
    }

    private func daysBeforeCanceling(_ index: Int, _ place: Int) -> Int64? {
        let steps = history.steps[...index]
        let last = steps.lastIndex { $0.continuesRenewing } ?? -1
        guard last < index else { return nil }
        return max(0, charges[place].transaction.purchased.days(until: steps[last + 1].at))
    }
}

extension StoreKitOffer? {
    fileprivate var startEvent: SalesReportEvent {
        switch self?.type {
        case nil: .subscribe
        case .introductory?: .startIntroductoryOffer
        case .promotional?: .startPromotionalOffer
        default: .startOfferCode
        }
    }

    fileprivate var introductorySuffix: String {
        self?.type == .introductory ? " from Introductory Offer" : ""
    }
}

extension StoreKitProduct {
    /// How a report names a change to another product of the group. Nil if it is the same product.
    fileprivate func change(to other: Self) -> String? {
        guard id != other.id, let old = subscription?.level, let new = other.subscription?.level
        else { return nil }
        if old == new { return SalesReportEvent.crossgrade.rawValue }
        return (new < old ? SalesReportEvent.upgrade : .downgrade).rawValue
    }
}

extension ExpirationIntent {
    fileprivate var reportedReason: SalesReportCancellationReason {
        switch self {
        case .cancelled: .canceled
        case .billingError: .billingIssue
        case .noConsentToPriceIncrease: .priceIncrease
        case .productUnavailable: .removedFromSale
        default: .other
        }
    }
}

extension AppStoreDate {
    /// The number of whole days until a later moment.
    fileprivate func days(until later: Self) -> Int64 {
        (later.milliseconds - milliseconds).flooredDivision(by: RFC3339.millisecondsPerDay)
    }
}
