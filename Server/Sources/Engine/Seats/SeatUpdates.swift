import Ledger
import Storage

/// Gives, releases and merges seats, and emits events.
struct SeatUpdates {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// Begins a claim, which is due to be reported to the App Store, and emits an event. The caller
    /// must have checked that there is a seat, and that the customer has no open claim on the
    /// purchase.
    func insert(
        _ claim: SeatClaim, on purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try tx.seatClaims.insert(claim, on: purchase, in: app, at: now)
        try emitEvents(.seatClaimed, of: [claim], on: purchase, in: app, by: .request, at: now)
    }

    /// Ends open claims on seats of one purchase, and emits an event to each member. If the App
    /// Store may know a claim, its end is due to be reported, unless the App Store itself has ended
    /// the claim.
    ///
    /// - Parameter cause: the cause in the events.
    func release(
        _ claims: [SeatClaim], on purchase: PurchaseID, because end: SeatClaim.Cause,
        in app: AppID, by cause: EventEntry.Cause = .request, at now: Instant
    ) throws(StorageFailure) {
        guard !claims.isEmpty else { return }
        try tx.seatClaims.markEnded(claims, because: end, in: app, at: now)
        let ended = claims.map { claim in
            var claim = claim
            claim.end = SeatClaim.End(end, at: now)
            return claim
        }
        try emitEvents(.seatReleased, of: ended, on: purchase, in: app, by: cause, at: now)
    }

    /// Ends the claims of an earlier run of a subscription: the subscription has ended since then,
    /// and was bought again. Call this function when another customer takes a seat. Do not call it
    /// when documents arrive, because a later document may say that the subscription continued.
    /// Idempotent.
    func releaseFormer(
        on timeline: Timeline, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        guard timeline.seatsBegin != nil else { return }
        let former = try tx.seatClaims.openClaims(on: timeline.purchase, in: app)
            .filter { !timeline.isOpen($0) }
        try release(former, on: timeline.purchase, because: .boughtAgain, in: app, at: now)
    }

    /// Ends the claim of a customer who now has the purchase itself. Idempotent.
    func release(
        ofOwner owner: CustomerID, on purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        guard let claim = try tx.seatClaims.openClaim(of: owner, on: purchase, in: app) else {
            return
        }
        try release([claim], on: purchase, because: .joined, in: app, at: now)
    }

    private func emitEvents(
        _ kind: Change.Kind, of claims: [SeatClaim], on purchase: PurchaseID, in app: AppID,
        by cause: EventEntry.Cause, at now: Instant
    ) throws(StorageFailure) {
        try PurchaseEvents(tx).emitStatusNeutralEvents(
            claims.map { claim in
                var change = Change(kind, at: now, ownership: .assigned)
                change.seat = SeatChange(claim.id, cause: claim.end?.cause)
                return (change, claim.customer)
            }, of: purchase, in: app, by: cause, at: now)
    }

    /// Moves the claims of a merged customer to the remaining customer. If both have an open claim
    /// on one purchase, the older claim stays. No claim stays on a purchase that the customer owns.
    /// The links must have been moved before.
    func mergeClaims(
        of other: CustomerID, into customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            let theirs = try tx.seatClaims.openClaims(
                of: customer, in: app, environment: environment)
            let others = try tx.seatClaims.openClaims(of: other, in: app, environment: environment)
            for moved in others {
                guard let own = theirs.first(where: { $0.purchase == moved.purchase }) else {
                    continue
                }
                var later = moved.claim.precedes(own.claim) ? own.claim : moved.claim
                later.customer = customer
                try release([later], on: own.purchase, because: .joined, in: app, at: now)
            }
            try tx.purchases.touch(others.map(\.purchase), in: app)
        }
        try tx.seatClaims.move(of: other, to: customer, in: app)
        try tx.seatInvitations.move(of: other, to: customer, in: app)
        try releaseSeatsOfOwnPurchases(of: customer, in: app, at: now)
    }

    /// Ends the claims of a customer on purchases that now belong to the customer. Idempotent.
    func releaseSeatsOfOwnPurchases(
        of customer: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            for kept in try tx.seatClaims.openClaims(
                of: customer, in: app, environment: environment)
            where try OwnershipUpdates(tx).beneficiary(of: kept.purchase, in: app) == customer {
                try release([kept.claim], on: kept.purchase, because: .joined, in: app, at: now)
            }
        }
    }
}
