// The members who have seats of a group whose members the app invites. The claims alone give
// access: these members get no transaction from the App Store.
//
// Claims are ranked by the moment they began. The first claims get the seats that exist besides the
// purchaser's own seat, and the other claims wait. Nothing is written when seats become fewer. So
// the order in which documents arrive does not matter, and a waiting member gets a seat as soon as
// a seat is free.

/// One person's claim on a seat of somebody else's subscription.
package struct SeatClaim: Hashable, Sendable {
    package var id: SeatClaimID
    package var customer: CustomerID
    package var claimedAt: Instant
    /// How and when the claim ended. Nil while it is open. A claim that has ended never opens
    /// again.
    package var end: End?
    /// What was reported to the App Store about the claim.
    package var report: SeatReport

    package struct End: Hashable, Sendable {
        package var at: Instant
        package var cause: Cause

        package init(_ cause: Cause, at moment: Instant) {
            (at, self.cause) = (moment, cause)
        }
    }

    /// Why a claim ended.
    package enum Cause: String, Hashable, Sendable, CaseIterable {
        /// The member gave the seat back.
        case left
        /// The purchaser or the app's server took the seat back.
        case removed
        /// The member or the purchaser was erased.
        case erased
        /// The App Store ended the claim, because seats were refunded.
        case unclaimed
        /// The subscription had ended, and was bought again.
        case boughtAgain = "bought_again"
        /// The member has another claim on the purchase, or has the purchase itself.
        case joined
    }

    /// Whether a claim gives access while the purchase gives access.
    package enum Standing: String, Hashable, Sendable, CaseIterable {
        case held
        case waiting
        case ended

        /// The standing of an open claim.
        ///
        /// - Parameters:
        ///   - rank: how many open claims of the same purchase come before this claim.
        ///   - capacity: the number of seats for members.
        package init(rank: Int, capacity: Int) {
            self = rank < capacity ? .held : .waiting
        }
    }

    /// - Parameter report: nil if nothing was reported to the App Store.
    package init(
        id: SeatClaimID, customer: CustomerID, claimedAt: Instant, end: End? = nil,
        report: SeatReport? = nil
    ) {
        self.id = id
        self.customer = customer
        self.claimedAt = claimedAt
        self.end = end
        self.report = report ?? SeatReport(since: claimedAt)
    }

    /// Whether the claim gets a seat before another claim.
    package func precedes(_ other: Self) -> Bool { (claimedAt, id) < (other.claimedAt, other.id) }
}

/// A claim, by a UUID in lower case.
package struct SeatClaimID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// The members who have the seats of one purchase at one moment.
package struct SeatRoster: Hashable, Sendable {
    /// The number of seats for members: one less than the number that was bought, because the
    /// purchaser has one seat.
    package var capacity: Int
    /// The open claims, in the order in which they get seats.
    package var claims: [SeatClaim]
    /// The number of seats that no new member can take: see ``StoreSeats/takenByOthers(at:)``.
    package var takenByOthers: Int

    /// - Parameters:
    ///   - claims: all claims of the purchase, in any order. Claims that ended, and claims from
    ///     before the subscription was bought again, are ignored.
    ///   - takenByOthers: the number of seats that no new member can take.
    package init(
        _ claims: [SeatClaim], of timeline: Timeline, takenByOthers: Int = 0, at now: Instant
    ) {
        self.takenByOthers = takenByOthers
        capacity = timeline.memberCapacity(at: now)
        self.claims = claims.filter { timeline.isOpen($0) }.sorted { $0.precedes($1) }
    }

    /// How many more members can join.
    package var available: Int { max(0, capacity - claims.count - takenByOthers) }
    /// How many members have no seat.
    package var waiting: Int { max(0, claims.count - capacity) }

    package func standing(of claim: SeatClaim) -> SeatClaim.Standing {
        guard let rank = claims.firstIndex(where: { $0.id == claim.id }) else { return .ended }
        return SeatClaim.Standing(rank: rank, capacity: capacity)
    }
}

extension Timeline {
    /// Whether a claim on a seat of this purchase is still open.
    package func isOpen(_ claim: SeatClaim) -> Bool {
        claim.end == nil && seatsBegin.map { $0 <= claim.claimedAt } ?? true
    }

    /// When the subscription was last bought again after it had ended. Earlier claims are over. Nil
    /// if it has been bought only once.
    ///
    /// A renewal continues a subscription, however late its payment is. Any other purchase before
    /// the end, or soon after it, also continues the subscription, because the last renewal may be
    /// unknown yet, or the App Store may have been collecting. But after a refunded payment,
    /// another purchase does not continue the subscription.
    package var seatsBegin: Instant? {
        var begin: Instant?
        var end: Instant?
        var isRefunded = false
        for period in periods where !period.isVoid {
            let isBought = !period.payment.isRenewal && !period.isAddition
            if let end, isBought, end < period.from,
                isRefunded || end + Self.groupKeptMax < period.from
            {
                begin = period.from
            }
            let openUntil = period.openUntil ?? Instant(milliseconds: .max)
            guard end.map({ $0 <= openUntil }) ?? true else { continue }
            end = openUntil
            isRefunded =
                period.payment.revocation != nil && !period.payment.isReplacedByUpgrade
        }
        return begin
    }

    /// For this long after the end of a subscription, another purchase continues its group. This is
    /// the App Store's longest grace period.
    package static let groupKeptMax = Duration.days(28)

    /// Who invites the members of the group that this purchase pays for, according to the latest
    /// payment that names the inviter. Nil if this is not a purchase of seats.
    package func seatHost(at now: Instant) -> Seats.Invitations? {
        let begun = periods.filter { $0.from <= now + Self.clockSkewMax && !$0.isVoid }
        guard let payment = begun.last(where: { $0.payment.seats != nil })?.payment,
            payment.ownership == .purchased, payment.kind == .autoRenewable
        else { return nil }
        return begun.last { $0.payment.seats?.invitations != nil }?.payment.seats?.invitations
            ?? .other
    }

    /// The number of people who are paid for by the payment that decides about
    /// access. That payment also counts in a grace period, and while it is unknown whether the
    /// subscription was renewed.
    package func seatsInForce(at now: Instant) -> Int {
        guard let moment = momentInForce(at: now) else { return 0 }
        let seats = seats(at: moment)
        // Access can continue although the payment was refunded: until the product of an upgrade is
        // known, and while the App Store collects what is due.
        return seats > 0 ? seats : self.seats(at: moment, \.seatsBought)
    }

    /// The payments for the seats of the period that decides about access, oldest first. There are
    /// several if seats were added.
    package func seatPayments(at now: Instant) -> [Payment] {
        guard let moment = momentInForce(at: now) else { return [] }
        return periods.filter { $0.paysForSeats(at: moment) }.map(\.payment)
    }

    /// A moment within the period that decides about access.
    private func momentInForce(at now: Instant) -> Instant? {
        guard let period = period(at: now) else { return nil }
        guard let end = period.openUntil, end <= now else { return max(period.from, now) }
        return end - .milliseconds(1)
    }

    /// The number of seats for members, if the app invites them. The purchaser has one seat.
    package func memberCapacity(at now: Instant) -> Int {
        guard seatHost(at: now) == .developer else { return 0 }
        return max(0, seatsInForce(at: now) - 1)
    }

    /// Whether any payment is for a group whose members the app invites.
    package var hasDeveloperSeats: Bool {
        periods.contains { $0.payment.seats?.invitations == .developer }
    }
}
