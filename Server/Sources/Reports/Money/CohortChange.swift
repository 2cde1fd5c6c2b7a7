import Ledger

/// Identifies a part of one number of a cohort: the part that the changes of one day contribute.
package struct CohortCell: Hashable, Sendable {
    package var cohort: Cohort
    /// The index of the number in ``CohortSum/numbers``.
    package var place: Int
    /// The day on which the subscriptions began: see ``CohortSum/day``.
    package var beganDay: Int64
    /// The currency of the amounts. Empty if no document contains it, or if no money is counted.
    package var currency: String
    /// The day of the changes, counted from 1970-01-01, in the configured time zone.
    package var day: Int64

    package init(
        _ cohort: Cohort, _ place: Int, beganOn beganDay: Int64, in currency: String = "",
        on day: Int64
    ) {
        (self.cohort, self.place, self.beganDay) = (cohort, place, beganDay)
        (self.currency, self.day) = (currency, day)
    }
}

/// The amount that one purchase adds to a number of a cohort.
package struct CohortChange: Hashable, Sendable {
    package var cell: CohortCell
    package var number: Int64

    package init(_ cell: CohortCell, _ number: Int64) {
        (self.cell, self.number) = (cell, number)
    }

    /// The changes of the cohorts if the movements of a purchase are replaced by other movements.
    package static func changes(
        from old: [CohortMovement], to new: [CohortMovement]
    ) -> [CohortChange] {
        guard old != new else { return [] }
        let (before, after) = (CohortReplay(old).changes, CohortReplay(new).changes)
        // Most movements are added at the end.
        let same = zip(before, after).prefix { $0 == $1 }.count
        let removed = before[same...].map { CohortChange($0.cell, -$0.number) }
        return net(removed + after[same...])
    }

    /// The changes, combined into one change for each cell. Changes that cancel each other are left
    /// out.
    private static func net(_ changes: [CohortChange]) -> [CohortChange] {
        var left: [CohortCell: Int64] = [:]
        for change in changes { left[change.cell, default: 0] += change.number }
        return changes.compactMap { change in
            guard let number = left.removeValue(forKey: change.cell), number != 0 else {
                return nil
            }
            return CohortChange(change.cell, number)
        }
    }
}

/// The part of a movement that cohorts are computed from.
package struct CohortMovement: Hashable, Sendable {
    package var at: Instant
    /// The day of the movement, counted from 1970-01-01, in the configured time zone.
    package var day: Int64
    package var kind: Movement.Kind
    /// The currency of the amounts. Nil if no document contains a price.
    package var currency: String?
    package var hasOffer: Bool
    package var payments: Int64
    package var active: Int64
    package var trials: Int64
    /// The amount that was charged, less the amount that was given back, in thousandths of the
    /// currency's unit.
    package var revenue: Int64

    package init(
        _ kind: Movement.Kind, at: Instant, on day: Int64, in currency: String?, hasOffer: Bool,
        payments: Int64, active: Int64, trials: Int64, revenue: Int64
    ) {
        (self.kind, self.at, self.day) = (kind, at, day)
        (self.currency, self.hasOffer) = (currency, hasOffer)
        (self.payments, self.active, self.trials) = (payments, active, trials)
        self.revenue = revenue
    }

    /// Returns nil if no cohort depends on the movement.
    package init?(_ movement: Movement, on day: Int64) {
        guard movement.category.isOfCohorts else { return nil }
        self.init(
            movement.kind, at: movement.at, on: day, in: movement.segment.price?.currency,
            hasOffer: movement.segment.offer != nil, payments: movement.counts.payments,
            active: movement.counts.active, trials: movement.counts.trials,
            revenue: movement.amounts.gross - movement.amounts.refunded)
    }
}

extension Movement.Category {
    /// Whether the numbers of a cohort of ``Cohort/summed`` depend on such movements.
    package var isOfCohorts: Bool {
        !isMeanwhile && (kind.isSubscriptionPayment || kind.isGivingBack || kind.isOfTrials)
    }
}

extension Movement.Kind {
    /// Whether such movements are payments for subscriptions.
    var isSubscriptionPayment: Bool {
        switch self {
        case .new, .converted, .renewal, .expansion, .contraction, .reactivation: true
        case .consumable, .nonConsumable, .nonRenewing, .oneTime, .trialStarted, .trialEnded,
            .churn, .refund, .credit, .graceStarted, .graceEnded, .retryStarted, .retryEnded,
            .retryRecovered, .renewalOff, .renewalOn:
            false
        }
    }

    /// Whether such movements return a part of a payment.
    var isGivingBack: Bool { self == .refund || self == .credit }

    /// Whether such movements show the outcome of a trial.
    var isOfTrials: Bool {
        switch self {
        case .trialStarted, .trialEnded, .converted, .new, .reactivation, .renewal: true
        case .consumable, .nonConsumable, .nonRenewing, .oneTime, .expansion, .contraction,
            .churn, .refund, .credit, .graceStarted, .graceEnded, .retryStarted, .retryEnded,
            .retryRecovered, .renewalOff, .renewalOn:
            false
        }
    }
}
