import Foundation
import Ledger
import Storage

/// Decides who may take a seat of a purchase, and who has a seat.
struct SeatDecisions {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// The timeline of a purchase. Returns nil if the purchase is unknown, or does not belong to
    /// the speaker. The caller must give an app the same answer in both cases.
    func timeline(
        of purchase: PurchaseID, paidBy speaker: CustomerID?, in app: AppID
    ) throws -> Timeline? {
        if let speaker, try !isPurchaser(speaker, of: purchase, in: app) { return nil }
        return try tx.purchases.timeline(of: purchase, in: app)
    }

    /// Whether a purchase belongs to the customer with an id.
    func isPurchaser(
        _ id: CustomerID, of purchase: PurchaseID, in app: AppID
    ) throws -> Bool {
        if let owner = try OwnershipUpdates(tx).beneficiary(of: purchase, in: app) {
            return try tx.customers.find(known: id, in: app)?.customer == owner
        }
        // The purchase may name a customer who is not stored yet.
        let token = try tx.purchases.timeline(of: purchase, in: app)?.accountToken
        return try OwnershipDecisions(tx).identified(by: token, or: [id], in: app) == id
    }

    // MARK: - What members and purchasers see

    /// The subscriptions of others in which a customer has a seat, with only the data that a member
    /// may see.
    func seatTimelines(
        of known: StoredCustomer?, in app: AppID, environment: Environment, at now: Instant
    ) throws -> [Timeline] {
        guard let known, known.hasSeats else { return [] }
        return try tx.seatClaims.openClaims(of: known.customer, in: app, environment: environment)
            .compactMap { stored in
                let (claim, purchase) = (stored.claim, stored.purchase)
                guard let timeline = try tx.purchases.timeline(of: purchase, in: app),
                    timeline.isOpen(claim)
                else { return nil }
                let rank = try tx.seatClaims.count(
                    on: purchase, since: timeline.seatsBegin, before: claim, in: app)
                let standing = SeatClaim.Standing(
                    rank: rank, capacity: timeline.memberCapacity(at: now))
                return timeline.seen(
                    from: MemberSeat(
                        claim: claim.id, standing: standing, since: claim.claimedAt,
                        purchase: purchase))
            }
    }

    /// The number of people for whom the customer pays by a purchase. Nil if the purchase has no
    /// seats.
    func seatCount(
        of timeline: Timeline, in app: AppSettings, at now: Instant
    ) throws -> SeatCount? {
        guard let host = timeline.seatHost(at: now) else { return nil }
        let isRunning = timeline.access(at: now, rules: app.rules)?.isOpen == true
        var count = SeatCount(count: isRunning ? timeline.seatsInForce(at: now) : 0)
        if isRunning { count.atRenewal = timeline.seatsAtRenewal(at: now) }
        guard host == .developer else { return count }
        count.claimed = try tx.seatClaims.count(
            on: timeline.purchase, since: timeline.seatsBegin, in: app.id)
        return count
    }

    func state(
        of claim: SeatClaim, on timeline: Timeline, in app: AppSettings, at now: Instant
    ) throws -> SeatClaimState {
        let rank = try tx.seatClaims.count(
            on: timeline.purchase, since: timeline.seatsBegin, before: claim, in: app.id)
        return SeatClaimState(
            claim: claim,
            standing: SeatClaim.Standing(
                rank: rank, capacity: timeline.memberCapacity(at: now)),
            isAnonymous: try OwnershipDecisions(tx).isAnonymous(claim.customer, in: app.id))
    }

    /// The reason why a group accepts no new member. Nil if the group accepts a new member.
    ///
    /// - Parameter id: the id of the customer who wants to join.
    func refusal(
        of timeline: Timeline, to id: CustomerID, in app: AppSettings, at now: Instant
    ) throws -> SeatRefusal? {
        if let why = refusal(of: timeline, in: app, at: now) { return why }
        if try isPurchaser(id, of: timeline.purchase, in: app.id) { return .purchasers }
        let count = try tx.seatClaims.count(
            on: timeline.purchase, since: timeline.seatsBegin, in: app.id)
        guard count < SeatService.seatClaimsMax else {
            return .tooManyClaims(limit: SeatService.seatClaimsMax)
        }
        let others =
            try tx.seatGroups.storeSeats(of: timeline.purchase, in: app.id)?.takenByOthers(at: now)
            ?? 0
        return count + others < timeline.memberCapacity(at: now) ? nil : .taken
    }

    /// The reason why nobody can join the group that a purchase pays for. Nil if the group is open.
    func refusal(of timeline: Timeline, in app: AppSettings, at now: Instant) -> SeatRefusal? {
        guard let host = timeline.seatHost(at: now) else { return .noSeats }
        guard host == .developer else { return .notOurs }
        let isRunning = timeline.access(at: now, rules: app.rules)?.isOpen == true
        return isRunning ? nil : .notRunning
    }
}
