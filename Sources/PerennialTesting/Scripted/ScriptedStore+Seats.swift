package import Foundation
public import Perennial
internal import PerennialContract

// MARK: - Seats outside the app

extension ScriptedStore {
    /// Refunds single seats: first the seats of the newest payment for the period. The customer
    /// keeps access while one seat is left.
    public func refunds(_ product: Perennial.ProductID, seats: Int) {
        change { $0.books.refundSeats(seats, of: product) }
    }

    /// Changes the number of seats of the next period, as the customer does in the App Store.
    public func plans(_ seats: Int, seatsOf product: Perennial.ProductID) {
        change { $0.books.planSeats(seats, of: product) }
    }

    /// Lets another person use an invitation that the app has created.
    ///
    /// - Parameter token: the token that `inviteToSeat` returned.
    /// - Returns: false if the token is no longer valid, or if no seat is free.
    @discardableResult
    public func joins(_ token: String, as customer: String) -> Bool {
        change { $0.books.join(token, as: customer) }
    }

    /// Lets another person, who pays for a group, invite the customer.
    ///
    /// - Returns: the token for `claimSeat`.
    public func invites(to product: Perennial.ProductID) -> String {
        change { $0.books.inviteByAnother(to: product) }
    }

    /// Removes the customer from the seat, as the purchaser of the other group does.
    public func removesSeat(in product: Perennial.ProductID) {
        change { $0.books.removeMembership(in: product) }
    }

    /// Gives the customer a seat through the App Store: by an App Store invitation, or from an
    /// organization.
    public func assigns(_ product: Perennial.ProductID) { change { $0.books.assign(product) } }

    /// Takes back a seat that the App Store gave.
    public func unassigns(_ product: Perennial.ProductID) { change { $0.books.unassign(product) } }
}

// MARK: - Calls of the app

extension ScriptedStore {
    package func seats(
        of subscription: String
    ) async throws(Perennial.Failure) -> Perennial.SeatGroup {
        try await reach(.serverUnreachable)
        guard let group = state.withLock({ $0.books.seatGroup(subscription) }) else {
            throw ScriptedBooks.groupUnknown
        }
        return group
    }

    package func inviteToSeat(
        of subscription: String, for invited: String?, within seconds: TimeInterval?
    ) async throws(Perennial.Failure) -> Perennial.SeatInvitation {
        try await reach(.serverUnreachable)
        let invitation = change {
            $0.books.invite(to: subscription, for: invited, within: seconds)
        }
        guard let invitation else { throw ScriptedBooks.groupUnknown }
        return invitation
    }

    package func withdrawInvitation(
        _ invitation: String, of subscription: String
    ) async throws(Perennial.Failure) {
        try await reach(.serverUnreachable)
        change { $0.books.withdraw(invitation, of: subscription) }
    }

    package func claimSeat(
        _ token: String
    ) async throws(Perennial.Failure) -> Perennial.Snapshot {
        try await reach(.serverUnreachable)
        let snapshot: Perennial.Snapshot? = change { state in
            state.books.claim(token) ? state.books.snapshot() : nil
        }
        guard let snapshot else {
            throw Perennial.Failure(
                "invitation_unknown", remedy: "Pass a token of the store's `invites(to:)`, once.")
        }
        return snapshot
    }

    package func releaseSeat(_ claim: String) async throws(Perennial.Failure) {
        try await reach(.serverUnreachable)
        change { $0.books.release(claim) }
    }
}
