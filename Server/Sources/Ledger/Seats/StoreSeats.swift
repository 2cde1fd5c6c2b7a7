/// How the App Store counts the seats of a group whose members the app invites.
package struct StoreSeats: Hashable, Sendable {
    package var seats: Int
    /// How many more claims of the group the App Store accepts.
    package var available: Int
    /// The number of listed claims that are not ours, for example because a backup without them was
    /// restored.
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
    /// How long an answer of the App Store is used. While a subscription runs, the App Store is
    /// asked about its group every day.
    package static let knownFor = Duration.days(3)

    /// How many seats are kept for claims that are not ours: no new member can take these seats,
    /// but no member loses a seat.
    package func takenByOthers(at now: Instant) -> Int {
        now < askedAt + Self.knownFor ? foreign : 0
    }
}

/// The differences between our claims on one purchase and the claims that the App Store lists.
package struct StoreSeatComparison: Hashable, Sendable {
    /// Our open claims that the App Store has probably ended because seats were refunded. There is
    /// at most one for each refunded seat that has not ended a claim yet, and the newest claims
    /// come first.
    package var missing: [SeatClaim] = []
    /// Our other open claims that the App Store does not list. Its list can be old, or the
    /// subscription had ended for a while. These claims stay open.
    package var dropped: [SeatClaim] = []
    /// Our open claims that the App Store lists again after it had dropped them.
    package var relisted: [SeatClaim] = []
    /// Claims that have ended here but that the App Store still lists.
    package var leftover: [SeatClaim] = []
    /// How many listed claims are not ours.
    package var foreign: Int
    /// Whether an open claim is missing that was reported only a moment ago. In this case the App
    /// Store must be asked again.
    package var isEarly = false

    /// For this long after an answer about a claim, the App Store's list may still lack the change.
    package static let settledAfter = Duration.seconds(600)

    /// - Parameters:
    ///   - listed: the ids that the App Store lists.
    ///   - claims: the claims that the list can contain. These are the purchase's claims that are
    ///     open or may be known to the App Store, the claims that the App Store has ended in the
    ///     period in force, and all claims whose ids are listed.
    ///   - timeline: the timeline of the purchase.
    ///   - askedAt: when the request was sent.
    package init(
        _ listed: Set<StoreSeatID>, with claims: [SeatClaim], on timeline: Timeline,
        askedAt: Instant
    ) {
        let ids = Set(claims.compactMap(\.report.storeID))
        // If an answer was lost, the App Store lists an id that we do not know yet.
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
    /// When the period in force began. The first payment counts, because added seats begin later.
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
