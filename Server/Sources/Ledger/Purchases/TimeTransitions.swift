// The changes of a purchase's status that time alone causes.

extension Timeline {
    /// The first moment after the last report at which the status changes without new facts.
    /// Returns nil if the status never changes without new facts.
    package func nextTransition(after told: ReportedState, rules: AccessRules = AccessRules())
        -> Instant?
    {
        boundaries(after: told.until, rules).first {
            status(at: $0, rules: rules) != told.status
        }
    }

    /// All moments after the given one at which the status may change, sorted. The status may
    /// change when a period begins, ends, or was revoked, and when a waiting time after an end is
    /// over.
    func boundaries(after moment: Instant, _ rules: AccessRules) -> [Instant] {
        var edges: [Instant] = []
        func add(_ edge: Instant) { if edge > moment { edges.append(edge) } }
        for period in periods where period.mayChange(after: moment, rules) {
            add(period.from - Self.clockSkewMax)
            add(period.from)
            if let revocation = period.payment.revocation { add(revocation.at) }
            for end in period.ends {
                for wait in [
                    .zero, period.notificationWait, rules.unconfirmedHold, period.retryMax,
                ] {
                    add(end + wait)
                }
            }
        }
        if let renewal = renewal?.value {
            if let grace = renewal.graceUntil { add(grace) }
            if let next = renewal.renewsAt {
                let patience = period(at: next)?.notificationWait ?? .zero
                for wait in [.zero, patience, rules.unconfirmedHold] { add(next + wait) }
            }
        }
        return edges.sorted()
    }

    /// The change that time alone has caused at a moment, compared to a reported status. Returns
    /// nil if the status is the same.
    func transition(
        from before: PurchaseStatus?, at moment: Instant, rules: AccessRules
    ) -> Change? {
        let access = reportedAccess(at: moment, rules: rules)
        let after = status(from: access)
        guard after != before else { return nil }
        var change = Change(Self.kind(of: before, after), at: moment, product: after?.product)
        if let period = period(at: moment) {
            change.transaction = period.payment.transaction
            change.ownership = period.payment.ownership
        }
        (change.before, change.after) = (before, after)
        if change.kind == .expired {
            change.expirationReason = access.flatMap { Change.ExpirationReason($0.reason) }
        }
        return change
    }

    private static func kind(of before: PurchaseStatus?, _ after: PurchaseStatus?) -> Change.Kind {
        switch after?.state {
        case .expired? where before?.state != .expired: .expired
        case .retry? where before?.state == .grace: .graceEnded
        case .retry? where before?.state != .retry: .retryBegan
        case .grace? where before?.state != .grace: .graceBegan
        case .unconfirmed?: .accessUnconfirmed
        case .paid?, .trial?, .offer?, .owned?: .periodBegan
        case .expired?, .retry?, .grace?, .refunded?, .revoked?, .granted?, nil: .accessChanged
        }
    }
}

extension Timeline.Period {
    /// The end of the period. If the period was revoked, there is a second value: the end that the
    /// period would have had without the revocation. Even after a revocation, the next renewal is
    /// due at that second end.
    fileprivate var ends: [Instant] {
        guard let open = openUntil else { return [] }
        guard payment.revocation != nil, let due = payment.until, due != open else { return [open] }
        return [open, due]
    }

    /// Whether any transition that follows from this period alone can happen after a moment.
    fileprivate func mayChange(after moment: Instant, _ rules: AccessRules) -> Bool {
        guard let end = ends.max() else { return from > moment || payment.revocation != nil }
        return end + max(Timeline.committedRetryMax, rules.unconfirmedHold) > moment
            || (payment.revocation?.at ?? end) > moment
    }
}
