/// How the App Store counts the seats of a group whose members the app invites.
package struct StoreSeats: Hashable, Sendable {
    package var seats: Int
    /// How many more claims it accepts.
    package var available: Int
    /// How many claims it lists that are not ours, for example those of a backup that was lost.
    package var foreign: Int
    package var askedAt: Instant

    package init(seats: Int, available: Int, foreign: Int, askedAt: Instant) {
        self.seats = seats
        self.available = available
        self.foreign = foreign
        self.askedAt = askedAt
    }
}

extension StoreSeats {
    /// For how long its answer counts. Groups are compared every day.
    package static let knownFor = Duration.days(3)

    /// How many seats are kept for claims that are not ours: nobody else can join, but no member
    /// loses a seat.
    package func takenByOthers(at now: Instant) -> Int {
        now < askedAt + Self.knownFor ? foreign : 0
    }
}

/// How our claims on one purchase differ from those that the App Store lists.
package struct StoreSeatComparison: Hashable, Sendable {
    /// Our open claims that it has ended because seats were refunded, without our knowing: at most
    /// as many as were refunded and have not ended a claim yet, the newest ones.
    package var missing: [SeatClaim] = []
    /// Our other open claims that it does not list: its list can be old, or the subscription had
    /// ended for a while. They stay open.
    package var dropped: [SeatClaim] = []
    /// Our open claims that it lists although it had dropped them.
    package var relisted: [SeatClaim] = []
    /// Claims that have ended here and are still listed there.
    package var leftover: [SeatClaim] = []
    /// How many listed claims are not ours.
    package var foreign: Int
    /// Whether an open claim is missing that it was told of only a moment ago: ask again.
    package var isEarly = false

    /// The App Store may list a claim, or stop listing it, a moment after it has answered.
    package static let settledAfter = Duration.seconds(600)

    /// - Parameters:
    ///   - listed: the ids that the App Store lists.
    ///   - claims: our claims that the list can be about: those of the purchase that are open or
    ///     may be known to the App Store, those that it has ended in the period in force, and all
    ///     whose ids are listed.
    ///   - timeline: of the purchase.
    ///   - askedAt: when the question was sent.
    package init(
        _ listed: Set<StoreSeatID>, with claims: [SeatClaim], on timeline: Timeline,
        askedAt: Instant
    ) {
        let ids = Set(claims.compactMap(\.report.storeID))
        // Where an answer was lost, the App Store lists an id that we do not know yet.
        let unanswered = claims.count {
            $0.report.askedAt != nil && $0.report.storeID == nil
        }
        foreign = max(0, listed.subtracting(ids).count - unanswered)
        var unlisted: [SeatClaim] = []
        for claim in claims {
            guard let id = claim.report.storeID else { continue }
            let isListed = listed.contains(id)
            let isSettled = claim.report.since + Self.settledAfter <= askedAt
            switch claim.report.state {
            case .reported where !isListed && timeline.isOpen(claim):
                if isSettled { unlisted.append(claim) } else { isEarly = true }
            case .ended where isListed && claim.end == nil: relisted.append(claim)
            case .reported, .ended, .refused:
                if isListed, isSettled, claim.end != nil { leftover.append(claim) }
            case .off, .due: break
            }
        }
        unlisted.sort { $1.precedes($0) }
        let refunded = max(
            0, timeline.refundedSeats(at: askedAt) - timeline.unclaimed(of: claims, at: askedAt))
        missing = Array(unlisted.prefix(refunded))
        dropped = Array(unlisted.dropFirst(refunded))
    }
}

extension Timeline {
    /// When the period in force began. Seats that were added to it began later.
    package func startInForce(at now: Instant) -> Instant? {
        guard let period = period(at: now) else { return nil }
        return periods.filter { $0.payment.until == period.payment.until && !$0.isVoid }
            .map(\.from).min()
    }

    /// How many claims the App Store has ended in the period in force.
    fileprivate func unclaimed(of claims: [SeatClaim], at now: Instant) -> Int {
        guard let start = startInForce(at: now) else { return 0 }
        return claims.count { claim in
            claim.end.map { $0.cause == .unclaimed && $0.at >= start } ?? false
        }
    }
}
