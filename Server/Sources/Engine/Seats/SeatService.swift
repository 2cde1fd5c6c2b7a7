import Foundation
import Ledger
import Storage

/// What permits a customer to take a seat.
package enum SeatTicket: Hashable, Sendable {
    /// The customer has an invitation, with this token.
    case invitation(String)
    /// The app's server names the purchase.
    case purchase(PurchaseID)
}

/// A claim, and whether there is a seat for it now.
package struct SeatClaimState: Hashable, Sendable {
    package var claim: SeatClaim
    package var standing: SeatClaim.Standing
    /// Whether this request made the claim.
    package var isNew = false
    /// Whether the member has anonymous ids only.
    package var isAnonymous = false
}

/// The seats of groups: makes and ends claims, reports claims to the App Store, and compares them
/// with the App Store's list.
package struct SeatService: Sendable {
    let context: Context

    /// The maximum number of open claims on one purchase.
    package static let seatClaimsMax = 10_000

    /// Gives a customer a seat. Idempotent: a customer who has a seat of this purchase keeps it,
    /// and a second invitation is not used up.
    ///
    /// One transaction counts the claims, inserts the new claim and changes the row of the
    /// purchase. So all servers together never give more seats than there are.
    ///
    /// - Parameter isByApp: whether an app makes the request, not the app's server. The rows that
    ///   an app's request adds count against the app's limit.
    package func claim(
        by ticket: SeatTicket, for id: CustomerID, isByApp: Bool = false, app appID: AppID
    ) async throws(EngineFailure) -> SeatClaimState {
        let (app, _) = try context.app(appID)
        try id.requireValid()
        let (now, name) = (context.now(), SeatClaimID(rawValue: UUID().uuidString.lowercased()))
        let wait = isByApp ? context.growth.wait(of: app, at: now) : nil
        let claimed = try await context.decide { tx -> Decision<SeatClaimState> in
            let known = try tx.customers.find(known: id, in: appID)
            let invitation = try ticket.token.map { token in
                try tx.seatInvitations.find(digest: InvitationToken.digest(of: token), in: appID)
            }
            if case .some(.none) = invitation { return .refused(.seatRefused(.unknownInvitation)) }
            let invited = invitation ?? nil
            guard let purchase = ticket.purchase ?? invited?.purchase,
                let timeline = try tx.purchases.timeline(of: purchase, in: appID)
            else { return .refused(ticket.unknown) }
            let own = try known.flatMap { known in
                try tx.seatClaims.openClaim(of: known.customer, on: purchase, in: appID)
            }.flatMap { timeline.isOpen($0) ? $0 : nil }
            if let invited {
                let isSpentByThem = own != nil && invited.claim == own?.id
                let ids = known?.ids ?? [id]
                guard invited.isOpen(at: now) || isSpentByThem,
                    invited.customer.map({ $0.isSame(asOneOf: ids) }) ?? true
                else { return .refused(.seatRefused(.unknownInvitation)) }
            }
            let isReported = reportsSeats(of: app, in: purchase.environment)
            if let own {
                let shown = own.shown(isReported: isReported)
                return .unchanged(
                    try SeatDecisions(tx).state(of: shown, on: timeline, in: app, at: now))
            }
            if let why = try SeatDecisions(tx).refusal(of: timeline, to: id, in: app, at: now) {
                return .refused(.seatRefused(why))
            }
            if let wait { return .refused(.growthBudgetExhausted(wait: wait)) }
            try SeatUpdates(tx).releaseFormer(on: timeline, in: appID, at: now)
            let customer = try IdentityUpdates(tx).customer(id, in: appID, at: now).customer
            // The App Store's clock may be ahead of this server's, and a claim must not be earlier
            // than its subscription.
            let claim = SeatClaim(
                id: name, customer: customer,
                claimedAt: max(now, timeline.seatsBegin ?? now))
            try SeatUpdates(tx).insert(claim, on: purchase, in: appID, at: now)
            if let invited {
                try tx.seatInvitations.use(invited, for: claim.id, in: appID, at: now)
            }
            let shown = claim.shown(isReported: isReported)
            var state = try SeatDecisions(tx).state(of: shown, on: timeline, in: app, at: now)
            state.isNew = true
            return .done(state)
        }
        if isByApp, claimed.isNew { context.growth.add(1, of: app, at: now) }
        return claimed
    }

    /// Ends a claim. Idempotent: a claim that has ended is not changed.
    ///
    /// - Parameters:
    ///   - speaker: the customer on whose behalf the request is made: the member or the
    ///     purchaser; nil for the app's server.
    ///   - isBySupport: whether support takes the seat back, possibly on the member's behalf.
    package func release(
        _ id: SeatClaimID, for speaker: CustomerID?, isBySupport: Bool = false, app appID: AppID
    ) async throws(EngineFailure) -> SeatClaimState {
        let (app, _) = try context.app(appID)
        let now = context.now()
        return try await context.decide { tx in
            guard let stored = try tx.seatClaims.find(id, in: appID) else {
                return .refused(.seatRefused(.unknownClaim))
            }
            let claim = stored.claim
            var isMembers = false
            if let speaker {
                let known = try tx.customers.find(known: speaker, in: appID)?.customer
                isMembers = known == claim.customer
                guard
                    try isMembers
                        || SeatDecisions(tx).isPurchaser(speaker, of: stored.purchase, in: appID)
                else { return .refused(.seatRefused(.unknownClaim)) }
            }
            let isAnonymous = try OwnershipDecisions(tx).isAnonymous(claim.customer, in: appID)
            let isReported = reportsSeats(of: app, in: stored.purchase.environment)
            func ended() throws -> SeatClaimState {
                let claim = try tx.seatClaims.find(id, in: appID)?.claim ?? claim
                return SeatClaimState(
                    claim: claim.shown(isReported: isReported), standing: .ended,
                    isAnonymous: isAnonymous)
            }
            guard claim.end == nil else { return .unchanged(try ended()) }
            let cause: SeatClaim.Cause = isMembers && !isBySupport ? .left : .removed
            try SeatUpdates(tx).release(
                [claim], on: stored.purchase, because: cause, in: appID, at: now)
            return .done(try ended())
        }
    }
}

extension CustomerID {
    /// Whether the id is one of the given ids. UUIDs that differ only in letter case are the same
    /// id.
    fileprivate func isSame(asOneOf ids: [CustomerID]) -> Bool {
        ids.contains { $0 == self || $0.accountToken != nil && $0.accountToken == accountToken }
    }
}

extension SeatTicket {
    fileprivate var token: String? {
        if case .invitation(let token) = self { token } else { nil }
    }

    fileprivate var purchase: PurchaseID? {
        if case .purchase(let purchase) = self { purchase } else { nil }
    }

    fileprivate var unknown: EngineFailure {
        switch self {
        case .invitation: .seatRefused(.unknownInvitation)
        case .purchase(let purchase): .unknownPurchase(purchase)
        }
    }
}
