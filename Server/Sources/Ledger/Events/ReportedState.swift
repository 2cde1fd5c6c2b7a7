/// The progress of one purchase's event log: the last reported status, and the moment up to which
/// changes were reported.
///
/// The log records what was learned, and when, so it depends on the order of arrival. Three
/// properties do not depend on that order. Each change begins with the status with which the
/// previous change ended. The last change ends with the purchase's current status. The money of all
/// changes adds up to the money of the timeline. Nothing is reported twice: a document that says
/// nothing new makes no change.
///
/// Late information corrects earlier reports. If a purchase was reported as expired, and then a
/// payment arrives that covers the same time, that payment is a change from expired to paid.
package struct ReportedState: Hashable, Sendable {
    package var status: PurchaseStatus?
    /// The moment up to which every change that time alone caused has been reported.
    package var until: Instant

    package init(_ condition: PurchaseStatus?, until: Instant) {
        self.status = condition
        self.until = until
    }

    /// Returns the changes that time alone has caused since the last report.
    package mutating func transitions(
        of timeline: Timeline, upTo now: Instant, rules: AccessRules = AccessRules()
    ) -> [Change] {
        transitions(of: timeline, upTo: now, rules) { _ in true }
    }

    private mutating func transitions(
        of timeline: Timeline, upTo now: Instant, _ rules: AccessRules,
        where isReported: (Instant) -> Bool
    ) -> [Change] {
        var changes: [Change] = []
        for edge in timeline.boundaries(after: until, rules) where edge <= now {
            guard let change = timeline.transition(from: status, at: edge, rules: rules),
                isReported(edge)
            else { continue }
            status = change.after
            changes.append(change)
        }
        until = max(until, now)
        return changes
    }

    /// Returns the changes that new facts have caused. The changes that time alone has caused since
    /// the last report come first.
    ///
    /// A transition is omitted if it was not reported yet and the new facts undo it. For example, a
    /// renewal that arrives a moment after the period's end is reported only as a renewal. If
    /// several changes become known at once, they are reported in the order in which they happened.
    /// The most significant of these changes carries the change of status; if nothing was known of
    /// the purchase before, the first change carries it.
    package mutating func changes(
        from before: Timeline, to after: Timeline, at now: Instant,
        rules: AccessRules = AccessRules()
    ) -> [Change] {
        let now = max(now, until)
        var changes = transitions(of: before, upTo: now, rules) { edge in
            !after.undoes(edge, of: before, rules)
        }
        let final = after.status(at: now, rules: rules)
        var news = TimelineDiff(before: before, after: after, told: status, now: now, rules: rules)
        changes += chained(news.changes(endingWith: final), endingWith: final)
        status = final
        return changes
    }

    private func chained(_ news: [Change], endingWith final: PurchaseStatus?) -> [Change] {
        var changes = news.enumerated().sorted {
            ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
        }
        .map(\.element)
        let weightiest = changes.map(\.kind.weight).max()
        let carrier =
            status == nil ? 0 : changes.lastIndex { $0.kind.weight == weightiest } ?? 0
        for index in changes.indices {
            changes[index].before = index <= carrier ? status : final
            changes[index].after = index < carrier ? status : final
        }
        return changes
    }
}

extension Timeline {
    /// Whether this timeline undoes a transition of an older timeline: by a payment that covers the
    /// moment of the transition, or by a confirmed state in place of an assumed state.
    fileprivate func undoes(_ edge: Instant, of before: Timeline, _ rules: AccessRules) -> Bool {
        guard let told = before.reportedAccess(at: edge, rules: rules) else { return false }
        if told.isUncertain {
            guard let ours = reportedAccess(at: edge, rules: rules) else { return true }
            return !ours.isUncertain || ours.state != told.state
        }
        return periods.contains { period in
            period.covers(edge) && !period.isVoid && period.payment.opensByItself
                && !before.periods.contains { $0.isSame(as: period) }
        }
    }
}

extension Access {
    /// Whether the state is assumed, because the App Store has not confirmed it.
    fileprivate var isUncertain: Bool {
        switch reason {
        case .unconfirmed, .upgradedToUnknown, .neverConfirmed: true
        case .paid, .trial, .offer, .owned, .ownedApp, .grace, .retrying, .ended, .refunded,
            .sharingEnded, .seatRevoked, .seatsTaken, .changed, .termEnded, .granted, .grantEnded:
            false
        }
    }
}

extension Change.Kind {
    /// The weight of a change. If several changes become known at once, the change with the
    /// greatest weight carries the change of status.
    fileprivate var weight: Int {
        switch self {
        case .purchased, .trialStarted, .trialConverted, .renewed, .billingRecovered,
            .resubscribed, .upgraded, .productChanged, .familyShared, .seatAssigned, .seatsAdded,
            .refunded, .refundReversed, .revoked, .seatRevoked, .extended, .billingFailed,
            .graceBegan, .graceEnded, .retryBegan,
            .accessUnconfirmed, .expired, .periodBegan, .accessChanged:
            2
        case .renewalTurnedOff, .renewalTurnedOn, .renewalKnown, .commitmentRenewalTurnedOff,
            .commitmentRenewalTurnedOn, .productChangeScheduled, .productChangeCancelled:
            1
        case .credited, .priceCorrected, .offerRedeemed, .priceIncreaseAnnounced,
            .priceIncreaseAgreed, .linked, .moved, .customerMerged, .aliasAdded,
            .aliasRemoved, .movedAway, .unlinked, .shared, .shareEnded, .seatClaimed,
            .seatReleased, .blocked, .unblocked, .customerErased, .purchaseForgotten, .granted,
            .grantEnded, .termEnding, .consumptionRequested, .consumptionAnswered,
            .consumptionUnanswered, .walletCredited, .walletCreditedByHand, .walletDebited,
            .walletClawedBack, .walletRestored, .walletAdjusted:
            0
        }
    }

    /// Whether the change reports that a period was bought, renewed, or shared.
    var isBeginning: Bool {
        switch self {
        case .purchased, .trialStarted, .trialConverted, .renewed, .billingRecovered,
            .resubscribed, .upgraded, .productChanged, .familyShared, .seatAssigned, .seatsAdded:
            true
        case .refunded, .refundReversed, .revoked, .seatRevoked, .extended, .credited,
            .priceCorrected,
            .renewalTurnedOff, .renewalTurnedOn, .renewalKnown, .commitmentRenewalTurnedOff,
            .commitmentRenewalTurnedOn, .productChangeScheduled, .productChangeCancelled,
            .offerRedeemed, .priceIncreaseAnnounced, .priceIncreaseAgreed, .billingFailed,
            .graceBegan, .graceEnded, .retryBegan, .accessUnconfirmed, .expired, .periodBegan,
            .accessChanged, .linked, .moved, .customerMerged, .aliasAdded, .aliasRemoved,
            .movedAway,
            .unlinked, .shared, .shareEnded, .seatClaimed, .seatReleased, .blocked, .unblocked,
            .customerErased, .purchaseForgotten, .granted, .grantEnded, .termEnding,
            .consumptionRequested, .consumptionAnswered, .consumptionUnanswered,
            .walletCredited, .walletCreditedByHand, .walletDebited, .walletClawedBack,
            .walletRestored, .walletAdjusted:
            false
        }
    }
}
