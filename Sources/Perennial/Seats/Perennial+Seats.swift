public import Foundation

// MARK: - For the purchaser

extension Perennial {
    /// The members of a subscription that the customer has bought for several people, its seats,
    /// and the invitations that can be used. Sends a request to the server.
    ///
    /// - Parameter subscription: one of ``Snapshot/groups``.
    /// - Throws: `Failure`: `purchase_unknown` if the customer is not the purchaser;
    ///   `purchase_has_no_seats`; or if the server cannot be asked.
    public func seats(of subscription: Subscription.ID) async throws(Failure) -> SeatGroup {
        switch part {
        case .script(let script): try await script.seats(of: subscription)
        case .engine(let engine): try await engine.seats(of: subscription)
        }
    }

    /// Creates an invitation for one person, if your app invites the members. Each call creates
    /// another invitation. An invitation does not reserve a seat.
    ///
    /// - Parameters:
    ///   - subscription: one of ``Snapshot/groups``.
    ///   - customer: the customer who may use the invitation. If nil, any customer who has its
    ///     token may use it.
    ///   - seconds: how long the invitation can be used: from a minute to 30 days. If nil, 7 days.
    /// - Returns: the invitation with its token, which no other call returns. Send it to the
    ///   person, whose app calls ``claimSeat(_:)``.
    /// - Throws: `Failure`: `seats_not_managed_by_app` if the App Store invites the members;
    ///   `purchase_not_running`, `too_many_invitations`; or if the server cannot be asked.
    public func inviteToSeat(
        of subscription: Subscription.ID, for customer: String? = nil,
        within seconds: TimeInterval? = nil
    ) async throws(Failure) -> SeatInvitation {
        switch part {
        case .script(let script):
            try await script.inviteToSeat(of: subscription, for: customer, within: seconds)
        case .engine(let engine):
            try await engine.inviteToSeat(of: subscription, for: customer, within: seconds)
        }
    }

    /// Withdraws an invitation, so that it can no longer be used. Idempotent.
    ///
    /// - Throws: `Failure` if the server has not confirmed the withdrawal.
    public func withdrawInvitation(
        _ invitation: SeatInvitation.ID, of subscription: Subscription.ID
    ) async throws(Failure) {
        switch part {
        case .script(let script):
            try await script.withdrawInvitation(invitation, of: subscription)
        case .engine(let engine):
            try await engine.withdrawInvitation(invitation, of: subscription)
        }
    }

    /// Removes a member from a seat. The member's access ends at once, and another person can join.
    /// Idempotent.
    ///
    /// - Throws: `Failure`: `claim_unknown` if the seat does not belong to a member of the
    ///   customer's group; or if the server has not confirmed the end of the claim.
    public func removeSeat(_ member: SeatMember.ID) async throws(Failure) {
        switch part {
        case .script(let script): try await script.releaseSeat(member)
        case .engine(let engine): try await engine.releaseSeat(member)
        }
    }
}

// MARK: - For a member

extension Perennial {
    /// Joins a group. Access is open when the call returns. Idempotent.
    ///
    /// - Parameter token: the token of an invitation.
    /// - Throws: `Failure`: `invitation_unknown` if the token is not valid, was used, withdrawn or
    ///   has expired; `seats_taken` if no seat is free; `purchaser_needs_no_seat` if the customer
    ///   pays for the group; or if the server cannot be asked.
    @discardableResult
    public func claimSeat(_ token: String) async throws(Failure) -> Snapshot {
        switch part {
        case .script(let script): try await script.claimSeat(token)
        case .engine(let engine): try await engine.claimSeat(token)
        }
    }

    /// Gives up the customer's own seat. Access ends at once. Idempotent.
    ///
    /// - Parameter seat: the id of the customer's seat: `seat.id` of a subscription in
    ///   ``Snapshot/memberships``.
    /// - Throws: `Failure` if the server has not confirmed the end of the claim. In that case
    ///   nothing has changed on this device.
    @discardableResult
    public func leaveSeat(_ seat: Subscription.Seat.ID) async throws(Failure) -> Snapshot {
        switch part {
        case .script(let script): try await script.releaseSeat(seat)
        case .engine(let engine): try await engine.releaseSeat(seat)
        }
        return snapshot
    }
}
