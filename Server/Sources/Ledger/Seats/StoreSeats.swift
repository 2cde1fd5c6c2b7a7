/// How the App Store counts the seats of a group whose members the app invites.
package struct StoreSeats: Hashable, Sendable {
    package var seats: Int
    /// How many more claims it accepts.
    package var available: Int
    /// How many claims it lists that are not ours, for example those of a backup that was lost.
    /// They take seats.
    package var foreign: Int
    package var askedAt: Instant

    package init(seats: Int, available: Int, foreign: Int, askedAt: Instant) {
        self.seats = seats
        self.available = available
        self.foreign = foreign
        self.askedAt = askedAt
    }
}

/// How our claims on one purchase differ from those that the App Store lists.
package struct StoreSeatComparison: Hashable, Sendable {
    /// Our open claims that it has ended without our knowing.
    package var missing: [SeatClaim] = []
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
    ///     may be known to the App Store, and all whose ids are listed.
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
        for claim in claims {
            guard let id = claim.report.storeID else { continue }
            let isListed = listed.contains(id)
            let isSettled = claim.report.since + Self.settledAfter <= askedAt
            switch claim.report.state {
            case .told where !isListed && timeline.isOpen(claim):
                if isSettled { missing.append(claim) } else { isEarly = true }
            case .ended, .refused:
                if isListed, isSettled, claim.end != nil { leftover.append(claim) }
            case .off, .due, .told: break
            }
        }
    }
}
