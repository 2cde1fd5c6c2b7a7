/// How far the log of one purchase has come: what was told of it last, and up to when.
///
/// The log is a record of what was learned, and when; so it depends on the order of arrival. What
/// never does: each change begins where the last one ended, the last one ends with the purchase's
/// condition, and the money of all of them is the money of its timeline. Nothing is told twice: a
/// document that says nothing new makes no change.
///
/// Late news corrects. If it is told that a purchase expired, and then a payment is heard of that
/// covers the same time, that payment is a change from expired to paid.
package struct Told: Hashable, Sendable {
    package var condition: Condition?
    /// Whatever time alone did up to then is told.
    package var until: Instant

    package init(_ condition: Condition?, until: Instant) {
        self.condition = condition
        self.until = until
    }

    /// Tells what time has done since.
    package mutating func turns(
        of timeline: Timeline, upTo now: Instant, rules: AccessRules = AccessRules()
    ) -> [Change] {
        turns(of: timeline, upTo: now, rules) { _ in true }
    }

    private mutating func turns(
        of timeline: Timeline, upTo now: Instant, _ rules: AccessRules,
        where isTold: (Instant) -> Bool
    ) -> [Change] {
        var changes: [Change] = []
        for edge in timeline.edges(after: until, rules) where edge <= now {
            guard let change = timeline.turn(from: condition, at: edge, rules: rules), isTold(edge)
            else { continue }
            condition = change.after
            changes.append(change)
        }
        until = max(until, now)
        return changes
    }

    /// Tells what news has changed, and before it what time has done since the last.
    ///
    /// A turn of time that nobody was told of yet, and that the news takes back, is left out: a
    /// renewal that is heard of a moment after the period's end is just a renewal. Of what is
    /// learned in one go, each is told in the order in which it happened; the condition changes
    /// with the weightiest of them, or, where nothing was known before, with the first.
    package mutating func news(
        from before: Timeline, to after: Timeline, at now: Instant,
        rules: AccessRules = AccessRules()
    ) -> [Change] {
        let now = max(now, until)
        var changes = turns(of: before, upTo: now, rules) { edge in
            !after.takesBack(edge, of: before, rules)
        }
        let final = after.condition(at: now, rules: rules)
        var news = News(before: before, after: after, told: condition, now: now, rules: rules)
        changes += chained(news.changes(endingWith: final), endingWith: final)
        condition = final
        return changes
    }

    private func chained(_ news: [Change], endingWith final: Condition?) -> [Change] {
        var changes = news.enumerated().sorted {
            ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
        }
        .map(\.element)
        let weightiest = changes.map(\.kind.weight).max()
        let carrier =
            condition == nil ? 0 : changes.lastIndex { $0.kind.weight == weightiest } ?? 0
        for index in changes.indices {
            changes[index].before = index <= carrier ? condition : final
            changes[index].after = index < carrier ? condition : final
        }
        return changes
    }
}

extension Timeline {
    /// Whether a turn that time took on an older timeline is undone by what this one knows more: a
    /// payment that covers it, or an answer where there was doubt.
    fileprivate func takesBack(_ edge: Instant, of before: Timeline, _ rules: AccessRules) -> Bool {
        guard let told = before.patientAccess(at: edge, rules: rules) else { return false }
        if told.isDoubt {
            guard let ours = patientAccess(at: edge, rules: rules) else { return true }
            return !ours.isDoubt || ours.state != told.state
        }
        return periods.contains { period in
            period.covers(edge) && !period.isVoid && period.payment.opensByItself
                && !before.periods.contains { $0.id == period.id }
        }
    }
}

extension Access {
    /// It is so only because nothing was heard.
    fileprivate var isDoubt: Bool {
        switch reason {
        case .unconfirmed, .upgradedToUnknown, .neverConfirmed: true
        case .paid, .trial, .offer, .owned, .grace, .retrying, .ended, .refunded, .sharingEnded,
            .changed, .termEnded, .granted, .grantEnded:
            false
        }
    }
}

extension Change.Kind {
    /// Of several that are learned at once, which stands for the change of condition.
    fileprivate var weight: Int {
        switch self {
        case .purchased, .trialStarted, .trialConverted, .renewed, .billingRecovered,
            .resubscribed, .upgraded, .productChanged, .familyShared, .refunded, .refundReversed,
            .revoked, .extended, .billingFailed, .graceBegan, .graceEnded, .retryBegan,
            .accessUnconfirmed, .expired, .periodBegan, .accessChanged:
            2
        case .renewalTurnedOff, .renewalTurnedOn, .renewalKnown, .commitmentRenewalTurnedOff,
            .commitmentRenewalTurnedOn, .productChangeScheduled, .productChangeCancelled:
            1
        case .credited, .priceCorrected, .offerRedeemed, .priceIncreaseAnnounced,
            .priceIncreaseAgreed, .linked, .moved, .customerMerged, .aliasAdded,
            .aliasParted, .movedAway, .unlinked, .shared, .shareEnded, .blocked, .unblocked,
            .customerErased,
            .granted, .grantEnded, .termEnding, .consumptionAsked, .consumptionAnswered,
            .consumptionUnanswered, .walletCredited, .walletDebited, .walletClawedBack,
            .walletRestored, .walletAdjusted:
            0
        }
    }

    /// A period that was bought, renewed, or shared.
    var isBeginning: Bool {
        switch self {
        case .purchased, .trialStarted, .trialConverted, .renewed, .billingRecovered,
            .resubscribed, .upgraded, .productChanged, .familyShared:
            true
        case .refunded, .refundReversed, .revoked, .extended, .credited, .priceCorrected,
            .renewalTurnedOff, .renewalTurnedOn, .renewalKnown, .commitmentRenewalTurnedOff,
            .commitmentRenewalTurnedOn, .productChangeScheduled, .productChangeCancelled,
            .offerRedeemed, .priceIncreaseAnnounced, .priceIncreaseAgreed, .billingFailed,
            .graceBegan, .graceEnded, .retryBegan, .accessUnconfirmed, .expired, .periodBegan,
            .accessChanged, .linked, .moved, .customerMerged, .aliasAdded, .aliasParted, .movedAway,
            .unlinked, .shared, .shareEnded, .blocked, .unblocked, .customerErased, .granted,
            .grantEnded,
            .termEnding, .consumptionAsked, .consumptionAnswered, .consumptionUnanswered,
            .walletCredited, .walletDebited, .walletClawedBack, .walletRestored, .walletAdjusted:
            false
        }
    }
}
