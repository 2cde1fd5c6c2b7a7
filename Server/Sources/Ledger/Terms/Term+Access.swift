extension Collection<Term> {
    /// The access that terms give a customer through some products at a moment. Returns nil if the
    /// customer never had any of these terms, or if none of them has begun.
    ///
    /// A term that covers the moment is open, until the end of the terms that follow it without a
    /// gap. Among parallel chains, the chain that lasts longest wins. Among ended terms, the term
    /// that ended last wins.
    func access(through products: Set<ProductID>, at now: Instant) -> Access? {
        let terms = filter { products.contains($0.product) }
        let running = terms.filter { $0.covers(now) || $0.covers(now + Timeline.clockSkewMax) }
        let open = running.map { term in
            term.makeAccess(.paid, until: terms.lastMoment(ofRunFrom: term)) {
                .paid(until: $0, .ends)
            }
        }
        if let longest = open.max(by: { ($0.until ?? now) < ($1.until ?? now) }) { return longest }
        let last = terms.filter { $0.until <= now }.max { $0.until < $1.until }
        return last.map { term in
            guard let revocation = term.payment.revocation, revocation.at <= term.until else {
                return term.makeAccess(.expired, until: term.until) { .termEnded(at: $0) }
            }
            return term.makeAccess(.refunded, until: term.until) {
                .refunded(at: $0, revocation.percentage)
            }
        }
    }

    private func lastMoment(ofRunFrom term: Term) -> Instant {
        reduce(term.until) { end, next in
            next.chain == term.chain && next.continues && next.from == end ? next.until : end
        }
    }
}

extension Term {
    package func covers(_ now: Instant) -> Bool { from <= now && now < until }

    /// Whole days remaining, in local time; 0 when the term is over.
    package func daysRemaining(at now: Instant, by clock: WallClock) -> Int {
        let start = max(from, now)
        guard start < until else { return 0 }
        // A day may have fewer than 24 hours, so there may be more days than the length suggests.
        var days = Int((until.milliseconds - start.milliseconds) / CivilDate.dayMilliseconds) + 2
        while days > 0, clock.moment(months: 0, days: days, after: start) > until { days -= 1 }
        return days
    }

    fileprivate func makeAccess(
        _ state: Access.State, until: Instant, _ reason: (Instant) -> Reason
    ) -> Access {
        Access(
            purchase: purchase, product: product, state: state, until: until,
            reason: reason(until), willRenew: false)
    }
}
