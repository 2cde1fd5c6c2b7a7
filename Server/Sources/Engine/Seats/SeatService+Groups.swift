import Ledger
import Storage

/// A group: the people who use one subscription, and the number of people for whom it is paid.
package struct SeatGroupState: Hashable, Sendable {
    package var purchase: PurchaseID
    package var product: ProductID
    package var host: Seats.Invitations
    /// The number of seats. 0 if the subscription does not run.
    package var seats: Int
    /// The number of seats of the next period. Nil if the App Store has not reported it.
    package var seatsAtRenewal: Int?
    /// The members and their seats. Nil if somebody other than the app invites the members.
    package var roster: SeatRoster?
    /// The claims of the roster that the requested page contains.
    package var page: ArraySlice<SeatClaim> = []
    /// The position where the next page begins. Nil on the last page.
    package var next: ListCursor?
    /// When the subscription renews. Nil if the subscription does not renew, or does not run.
    package var renewsAt: Instant?
    /// When the paid time ends. Nil if the subscription does not run.
    package var endsAt: Instant?
    /// The members on the page who have anonymous ids only.
    package var anonymous: Set<CustomerID> = []
    /// The App Store's count of the seats. Nil if the App Store was not asked.
    package var store: StoreSeats?
}

extension SeatService {
    /// The maximum number of claims on one page.
    package static let seatClaimsPageMax = 500

    /// The group that a purchase pays for.
    ///
    /// - Parameters:
    ///   - speaker: the customer on whose behalf an app makes the request, who must have the
    ///     purchase; nil for the app's server.
    ///   - position: the position after which the page begins; nil to begin with the first claim.
    ///   - limit: the maximum number of claims.
    package func group(
        of purchase: PurchaseID, for speaker: CustomerID?, app appID: AppID,
        after position: ListCursor? = nil, limit: Int = Self.seatClaimsPageMax
    ) async throws(EngineFailure) -> SeatGroupState {
        let (app, _) = try context.app(appID)
        let now = context.now()
        return try await context.read { tx in
            guard
                let timeline = try SeatDecisions(tx).timeline(
                    of: purchase, paidBy: speaker, in: appID)
            else {
                throw EngineFailure.unknownPurchase(purchase)
            }
            guard let host = timeline.seatHost(at: now),
                let period = timeline.period(at: now) ?? timeline.latestPeriod
            else { throw EngineFailure.seatRefused(.noSeats) }
            let access = timeline.access(at: now, rules: app.rules)
            let isRunning = access?.isOpen == true
            var group = SeatGroupState(
                purchase: purchase, product: period.product, host: host,
                seats: isRunning ? timeline.seatsInForce(at: now) : 0)
            if isRunning {
                group.seatsAtRenewal = timeline.seatsAtRenewal(at: now)
                group.endsAt = access?.until
                group.renewsAt =
                    access?.willRenew == true ? period.end.flatMap { $0 > now ? $0 : nil } : nil
            }
            guard host == .developer else { return group }
            group.store = try tx.seatGroups.storeSeats(of: purchase, in: appID)
            let isReported = reportsSeats(of: app, in: purchase.environment)
            var roster = SeatRoster(
                try tx.seatClaims.openClaims(on: purchase, in: appID).map {
                    $0.shown(isReported: isReported)
                }, of: timeline, takenByOthers: group.store?.takenByOthers(at: now) ?? 0,
                at: now)
            if !isRunning { roster.capacity = min(roster.capacity, roster.claims.count) }
            group.roster = roster
            let rest = roster.claims.rest(after: position)
            group.page = rest.prefix(limit)
            group.next = group.page.count < rest.count ? group.page.last?.position : nil
            for claim in group.page
            where try OwnershipDecisions(tx).isAnonymous(claim.customer, in: appID) {
                group.anonymous.insert(claim.customer)
            }
            return group
        }
    }

    /// The customer who pays for a group. For support only, because a member must not learn who
    /// pays. Returns nil if the purchaser is unknown.
    package func purchaser(
        of purchase: PurchaseID, app appID: AppID
    ) async throws(EngineFailure) -> CustomerID? {
        _ = try context.app(appID)
        return try await context.read { tx in
            if let owner = try OwnershipUpdates(tx).beneficiary(of: purchase, in: appID) {
                return owner
            }
            let token = try tx.purchases.timeline(of: purchase, in: appID)?.accountToken
            return try OwnershipDecisions(tx).identified(by: token, or: [], in: appID)
        }
    }
}

/// The numbers of people for whom a subscription is paid.
package struct SeatCount: Hashable, Sendable {
    /// The number of people now. 0 if the subscription does not run.
    package var count: Int
    /// The number of people in the next period. Nil if the App Store has not reported it.
    package var atRenewal: Int?
    /// How many members have joined. Nil if somebody other than the app invites the members.
    package var claimed: Int?
}
