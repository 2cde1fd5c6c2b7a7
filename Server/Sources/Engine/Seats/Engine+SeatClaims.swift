import Foundation
import Ledger
import Storage

/// By what right somebody takes a seat.
package enum SeatTicket: Hashable, Sendable {
    /// The token of an invitation.
    case invitation(String)
    /// The app's server names the purchase.
    case purchase(PurchaseID)
}

/// A claim, and whether there is a seat for it now.
package struct SeatClaimState: Hashable, Sendable {
    package var claim: SeatClaim
    package var standing: SeatClaim.Standing
    /// Whether this request made it.
    package var isNew = false
    /// Whether the member has anonymous ids only.
    package var isAnonymous = false
}

extension Engine {
    /// The maximum number of open claims on one purchase.
    package static let seatClaimsMax = 10_000

    /// Gives a customer a seat. Idempotent: whoever has one on this purchase keeps it, and a second
    /// invitation is not used up.
    ///
    /// Both the count of the claims and the new claim are of one transaction that changes the row
    /// of the purchase, so any number of servers together never give more seats than there are.
    ///
    /// - Parameter isByApp: whether an app asks, and not the app's server: then what is added
    ///   counts against the app's limit.
    package func claimSeat(
        by ticket: SeatTicket, for id: CustomerID, isByApp: Bool = false, app appID: AppID
    ) async throws(EngineFailure) -> SeatClaimState {
        let (app, _) = try app(appID)
        try id.requireValid()
        let (now, name) = (now(), SeatClaimID(rawValue: UUID().uuidString.lowercased()))
        let wait = isByApp ? growth.wait(of: app, at: now) : nil
        let claimed = try await decide { tx -> Decision<SeatClaimState> in
            let known = try tx.customer(known: id, in: appID)
            let invitation = try ticket.token.map { token in
                try tx.invitation(digest: InvitationToken.digest(of: token), in: appID)
            }
            if case .some(.none) = invitation { return .refused(.seatRefused(.unknownInvitation)) }
            let invited = invitation ?? nil
            guard let purchase = ticket.purchase ?? invited?.purchase,
                let timeline = try tx.timeline(of: purchase, in: appID)
            else { return .refused(ticket.unknown) }
            let own = try known.flatMap { known in
                try tx.openSeatClaim(of: known.customer, on: purchase, in: appID)
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
                return .unchanged(try tx.state(of: shown, on: timeline, in: app, at: now))
            }
            if let why = try tx.refusal(of: timeline, to: id, in: app, at: now) {
                return .refused(.seatRefused(why))
            }
            if let wait { return .refused(.growthBudgetExhausted(wait: wait)) }
            try tx.releaseFormerSeats(on: timeline, in: appID, at: now)
            let customer = try tx.customer(id, in: appID, at: now).customer
            // The App Store's clock may be ahead of ours. A claim follows what it is a claim on.
            let claim = SeatClaim(
                id: name, customer: customer,
                claimedAt: max(now, timeline.seatsBegin ?? now))
            try tx.insert(claim, on: purchase, in: appID, at: now)
            if let invited { try tx.use(invited, for: claim.id, in: appID, at: now) }
            let shown = claim.shown(isReported: isReported)
            var state = try tx.state(of: shown, on: timeline, in: app, at: now)
            state.isNew = true
            return .done(state)
        }
        if isByApp, claimed.isNew { growth.add(1, of: app, at: now) }
        return claimed
    }

    /// Ends a claim. Idempotent: one that has ended stays as it is.
    ///
    /// - Parameters:
    ///   - speaker: the customer in whose name somebody asks: the member or the purchaser; nil for
    ///     the app's server.
    ///   - isBySupport: whether support takes the seat back, also for the member.
    package func releaseSeat(
        _ id: SeatClaimID, for speaker: CustomerID?, isBySupport: Bool = false, app appID: AppID
    ) async throws(EngineFailure) -> SeatClaimState {
        let (app, _) = try app(appID)
        let now = now()
        return try await decide { tx in
            guard let stored = try tx.seatClaim(id, in: appID) else {
                return .refused(.seatRefused(.unknownClaim))
            }
            let claim = stored.claim
            var isMembers = false
            if let speaker {
                let known = try tx.customer(known: speaker, in: appID)?.customer
                isMembers = known == claim.customer
                guard try isMembers || tx.isPurchaser(speaker, of: stored.purchase, in: appID)
                else { return .refused(.seatRefused(.unknownClaim)) }
            }
            let isAnonymous = try tx.isAnonymous(claim.customer, in: appID)
            let isReported = reportsSeats(of: app, in: stored.purchase.environment)
            func ended() throws -> SeatClaimState {
                let claim = try tx.seatClaim(id, in: appID)?.claim ?? claim
                return SeatClaimState(
                    claim: claim.shown(isReported: isReported), standing: .ended,
                    isAnonymous: isAnonymous)
            }
            guard claim.end == nil else { return .unchanged(try ended()) }
            let cause: SeatClaim.Cause = isMembers && !isBySupport ? .left : .removed
            try tx.release([claim], on: stored.purchase, because: cause, in: appID, at: now)
            return .done(try ended())
        }
    }
}

extension CustomerID {
    /// A UUID is the same id in both letter cases.
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

extension DatabaseSession {
    fileprivate func state(
        of claim: SeatClaim, on timeline: Timeline, in app: AppSettings, at now: Instant
    ) throws -> SeatClaimState {
        let rank = try seatClaimCount(
            on: timeline.purchase, since: timeline.seatsBegin, before: claim, in: app.id)
        return SeatClaimState(
            claim: claim,
            standing: SeatClaim.Standing(
                rank: rank, capacity: timeline.memberCapacity(at: now)),
            isAnonymous: try isAnonymous(claim.customer, in: app.id))
    }

    /// Why a group takes no new member. Nil if it does.
    ///
    /// - Parameter id: of whoever wants to join.
    fileprivate func refusal(
        of timeline: Timeline, to id: CustomerID, in app: AppSettings, at now: Instant
    ) throws -> SeatRefusal? {
        if let why = refusal(of: timeline, in: app, at: now) { return why }
        if try isPurchaser(id, of: timeline.purchase, in: app.id) { return .purchasers }
        let count = try seatClaimCount(
            on: timeline.purchase, since: timeline.seatsBegin, in: app.id)
        guard count < Engine.seatClaimsMax else {
            return .tooManyClaims(limit: Engine.seatClaimsMax)
        }
        let others =
            try storeSeats(of: timeline.purchase, in: app.id)?.takenByOthers(at: now) ?? 0
        return count + others < timeline.memberCapacity(at: now) ? nil : .taken
    }

    /// Why nobody can join the group that a purchase pays for. Nil if somebody can.
    func refusal(of timeline: Timeline, in app: AppSettings, at now: Instant) -> SeatRefusal? {
        guard let host = timeline.seatHost(at: now) else { return .noSeats }
        guard host == .developer else { return .notOurs }
        let isRunning = timeline.access(at: now, rules: app.rules)?.isOpen == true
        return isRunning ? nil : .notRunning
    }
}
