import Engine
import Ledger
import PerennialContract
import Storage

extension SeatGroup {
    /// - Parameter isForApp: whether to hide anonymous ids from an app, because anyone who knows
    ///   such an id may act as its customer.
    init(_ group: SeatGroupState, isForApp: Bool) {
        self.init(
            originalTransactionID: group.purchase.original.rawValue,
            environment: StoreEnvironment(group.purchase.environment),
            productID: group.product.rawValue, invitations: SeatHost(group.host),
            seats: group.seats, seatsAtRenewal: group.seatsAtRenewal,
            renewsAt: group.renewsAt.map { Timestamp($0) },
            endsAt: group.endsAt.map { Timestamp($0) })
        guard let roster = group.roster else { return }
        (claimed, available, waiting) = (roster.claims.count, roster.available, roster.waiting)
        claims = group.page.indices.map { rank in
            let claim = group.page[rank]
            return PerennialContract.SeatClaim(
                claim, Ledger.SeatClaim.Standing(rank: rank, capacity: roster.capacity),
                isHidden: isForApp && group.anonymous.contains(claim.customer))
        }
        nextCursor = group.next?.text
        apple = group.store.map {
            AppleSeats(
                seats: $0.seats, available: $0.available, foreign: $0.foreign,
                askedAt: Timestamp($0.askedAt))
        }
    }
}

extension PerennialContract.SeatClaim {
    /// - Parameter isForApp: whether the response is for the purchaser's app and not for the
    ///   member. A response for the purchaser's app hides anonymous ids.
    init(_ state: SeatClaimState, isForApp: Bool) {
        self.init(state.claim, state.standing, isHidden: isForApp && state.isAnonymous)
    }

    /// - Parameter isHidden: whether the id of the member is left out.
    fileprivate init(
        _ claim: Ledger.SeatClaim, _ standing: Ledger.SeatClaim.Standing, isHidden: Bool
    ) {
        self.init(
            claimID: claim.id.rawValue, customerID: isHidden ? nil : claim.customer.rawValue,
            standing: SeatStanding(standing), claimedAt: Timestamp(claim.claimedAt),
            endedAt: claim.end.map { Timestamp($0.at) }, cause: claim.end.map { SeatEnd($0.cause) },
            appleState: AppleSeatState(claim.report.state))
    }
}

extension PerennialContract.SeatInvitation {
    init(_ invitation: StoredInvitation) {
        self.init(
            invitationID: invitation.id, customerID: invitation.customer?.rawValue,
            createdAt: Timestamp(invitation.createdAt),
            expiresAt: Timestamp(invitation.expiresAt),
            usedAt: invitation.usedAt.map { Timestamp($0) },
            withdrawnAt: invitation.withdrawnAt.map { Timestamp($0) })
    }
}

extension NewInvitation {
    /// Converts a request to the engine's form.
    ///
    /// - Throws: ``ProblemError`` if the invitation would end too early or too late.
    init(_ asked: SeatInvitationRequest) throws {
        let life = asked.expiresInSeconds.map { Duration.seconds($0) } ?? Self.lifeDefault
        guard (Self.lifeMin...Self.lifeMax).contains(life) else {
            throw ProblemError(.invitationLifeOutOfRange)
        }
        self.init(customer: asked.customerID.map { CustomerID(rawValue: $0) }, life: life)
    }
}

// MARK: - Words

extension SeatHost {
    init(_ host: Seats.Invitations) {
        switch host {
        case .apple: self = .apple
        case .developer: self = .developer
        case .other: self = .other
        }
    }
}

extension SeatStanding {
    init(_ standing: Ledger.SeatClaim.Standing) {
        switch standing {
        case .held: self = .held
        case .waiting: self = .waiting
        case .ended: self = .ended
        }
    }
}

extension AppleSeatState {
    init(_ state: SeatReport.State) {
        switch state {
        case .off: self = .off
        case .due: self = .due
        case .reported: self = .reported
        case .refused: self = .refused
        case .ended: self = .ended
        }
    }
}

extension SeatEnd {
    init(_ cause: Ledger.SeatClaim.Cause) {
        switch cause {
        case .left: self = .left
        case .removed: self = .removed
        case .erased: self = .erased
        case .unclaimed: self = .unclaimed
        case .boughtAgain: self = .boughtAgain
        case .joined: self = .joined
        }
    }
}
