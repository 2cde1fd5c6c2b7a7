import Foundation
import Perennial
import PerennialTesting
import Testing

/// A scripted store that sells a subscription in seats.
@Suite(.timeLimit(.minutes(1)))
struct ScriptedSeatTests {
    private static let monthly = Perennial.Product(
        id: "pro.monthly", kind: .renewing, name: "Pro", price: 9.99, displayPrice: "$9.99",
        currencyCode: "USD", period: .init(1, .month), group: "pro", entitlements: ["pro"],
        seatTiers: [
            .init(from: 1, through: 5, price: 9.99, displayPrice: "$9.99"),
            .init(from: 6, price: 7.99, displayPrice: "$7.99"),
        ])
    private static let yearly = Perennial.Product(
        id: "pro.yearly", kind: .renewing, name: "Pro for a year", price: 99.99,
        displayPrice: "$99.99", period: .init(1, .year), group: "pro", entitlements: ["pro"])

    private let store = ScriptedStore(products: [monthly, yearly])

    private func seats(_ perennial: Perennial) -> Perennial.Subscription.Seats? {
        perennial.snapshot.groups.first?.seats
    }

    private func code(
        _ body: () async throws -> Void
    ) async -> Perennial.Failure.Code? {
        do {
            try await body()
            return nil
        } catch { return (error as? Perennial.Failure)?.code }
    }

    @Test func `seats are bought, added, and renewed together`() async throws {
        let perennial = store.perennial()
        try await perennial.purchase("pro.monthly", .init(seats: 5))
        #expect(perennial["pro"].isActive)
        #expect(seats(perennial) == .init(count: 5, atRenewal: 5, members: 0))
        store.advance(days: 10)
        let added = try await perennial.purchase("pro.monthly", .init(seats: 7))
        #expect(added.outcome == .bought && seats(perennial)?.count == 7)
        #expect(perennial.snapshot.subscriptions.count == 1)
        #expect(perennial.snapshot.subscriptions.first?.from == ScriptedStore.firstNoon)
        store.advance(days: 25)
        #expect(perennial["pro"].state == .paid)
        #expect(seats(perennial) == .init(count: 7, atRenewal: 7, members: 0))
        #expect(perennial.snapshot.subscriptions.count == 1)
        #expect(store.sheets == ["pro.monthly", "pro.monthly"])
    }

    @Test func `a lower number of seats is planned, and applies from the next period`()
        async throws
    {
        let perennial = store.perennial()
        try await perennial.purchase("pro.monthly", .init(seats: 7))
        store.plans(3, seatsOf: "pro.monthly")
        #expect(seats(perennial) == .init(count: 7, atRenewal: 3, members: 0))
        store.advance(days: 31)
        #expect(seats(perennial) == .init(count: 3, atRenewal: 3, members: 0))
    }

    @Test func `if a number of seats cannot be bought, no sheet is shown`() async throws {
        let perennial = store.perennial()
        #expect(
            await code { try await perennial.purchase("pro.monthly", .init(seats: 0)) }
                == .seatsNotPositive)
        #expect(
            await code { try await perennial.purchase("pro.yearly", .init(seats: 2)) }
                == .seatsNotSold)
        try await perennial.purchase("pro.monthly", .init(seats: 5))
        #expect(
            await code { try await perennial.purchase("pro.monthly", .init(seats: 5)) }
                == .seatsUnchanged)
        #expect(
            await code { try await perennial.purchase("pro.monthly", .init(seats: 4)) }
                == .seatReductionNotAllowed)
        #expect(try await perennial.purchase("pro.monthly").outcome == .alreadyHad)
        #expect(store.sheets == ["pro.monthly"])
    }

    @Test func `a refund of seats ends access only when no seat is left`() async throws {
        let perennial = store.perennial()
        try await perennial.purchase("pro.monthly", .init(seats: 5))
        try await perennial.purchase("pro.monthly", .init(seats: 8))
        // Three seats were added. First two of these are refunded, then the third and one of the
        // first five seats.
        store.refunds("pro.monthly", seats: 2)
        #expect(perennial["pro"].isActive && seats(perennial)?.count == 6)
        store.refunds("pro.monthly", seats: 2)
        #expect(perennial["pro"].isActive && seats(perennial)?.count == 4)
        #expect(perennial["pro"].willRenew == true)
        store.refunds("pro.monthly", seats: 4)
        #expect(perennial["pro"].state == .refunded && seats(perennial)?.count == 0)
    }

    @Test func `a refund of added seats does not end the other seats`() async throws {
        let perennial = store.perennial()
        try await perennial.purchase("pro.monthly", .init(seats: 5))
        try await perennial.purchase("pro.monthly", .init(seats: 8))
        store.refunds("pro.monthly")
        #expect(perennial["pro"].state == .paid && seats(perennial)?.count == 5)
        store.refunds("pro.monthly")
        #expect(perennial["pro"].state == .refunded)
    }

    @Test func `the purchaser can invite members, and can take a seat back`() async throws {
        let perennial = store.perennial()
        try await perennial.purchase("pro.monthly", .init(seats: 3))
        let id = try #require(perennial.snapshot.groups.first?.id)
        let invitation = try await perennial.inviteToSeat(of: id)
        let token = try #require(invitation.token)
        var group = try await perennial.seats(of: id)
        #expect((group.seats, group.available, group.host) == (3, 2, .developer))
        #expect(group.invitations.map(\.token) == [nil])
        #expect(store.joins(token, as: "ben"))
        #expect(!store.joins(token, as: "cleo"), "An invitation is used once.")
        let second = try #require(try await perennial.inviteToSeat(of: id, for: "cleo").token)
        #expect(!store.joins(second, as: "dora"), "It is for cleo.")
        #expect(store.joins(second, as: "cleo"))
        let third = try #require(try await perennial.inviteToSeat(of: id).token)
        #expect(!store.joins(third, as: "dora"), "One seat is the purchaser's.")
        group = try await perennial.seats(of: id)
        #expect(group.members.map(\.customer) == ["ben", "cleo"] && group.available == 0)
        #expect(seats(perennial)?.members == 2)
        // If there are too few seats, the member who joined last is the first to wait.
        store.plans(2, seatsOf: "pro.monthly")
        store.advance(days: 31)
        #expect(try await perennial.seats(of: id).members.map(\.standing) == [.held, .waiting])
        try await perennial.removeSeat(group.members[0].id)
        let left = try await perennial.seats(of: id).members
        #expect(left.map(\.customer) == ["cleo"] && left.map(\.standing) == [.held])
    }

    @Test func `an invitation expires, or is withdrawn`() async throws {
        let perennial = store.perennial()
        try await perennial.purchase("pro.monthly", .init(seats: 3))
        let id = try #require(perennial.snapshot.groups.first?.id)
        let short = try #require(try await perennial.inviteToSeat(of: id, within: 60).token)
        let invitation = try await perennial.inviteToSeat(of: id)
        try await perennial.withdrawInvitation(invitation.id, of: id)
        #expect(!store.joins(try #require(invitation.token), as: "ben"))
        store.advance(seconds: 61)
        #expect(!store.joins(short, as: "ben"))
        #expect(try await perennial.seats(of: id).invitations.isEmpty)
        #expect(
            await code { _ = try await perennial.seats(of: "nothing") }?.rawValue
                == "purchase_unknown")
    }

    @Test func `a member joins, loses the seat, and leaves`() async throws {
        let perennial = store.perennial()
        let token = store.invites(to: "pro.monthly")
        let joined = try await perennial.claimSeat(token)
        #expect(joined["pro"].isActive && joined.memberships.count == 1)
        #expect(joined.groups.isEmpty && joined.memberships.first?.seat?.standing == .held)
        #expect(
            await code { _ = try await perennial.claimSeat(token) }?.rawValue
                == "invitation_unknown")
        store.removesSeat(in: "pro.monthly")
        #expect(!perennial["pro"].isActive && perennial["pro"].isKnown)
        let again = try await perennial.claimSeat(store.invites(to: "pro.monthly"))
        let seat = try #require(again.memberships.first?.seat)
        #expect(try await !perennial.leaveSeat(seat.id)["pro"].isActive)
        #expect(perennial.snapshot.memberships.isEmpty)
    }

    @Test func `a seat of one customer does not give access to the next customer`() async throws {
        let perennial = store.perennial()
        try await perennial.claimSeat(store.invites(to: "pro.monthly"))
        try await perennial.identify("anna")
        #expect(!perennial["pro"].isActive)
        store.isOffline(true)
        #expect(
            await code { _ = try await perennial.claimSeat("token") } == .serverUnreachable)
    }

    @Test func `a seat assigned by the App Store gives access without a group`() async throws {
        let perennial = store.perennial()
        store.assigns("pro.monthly")
        #expect(perennial["pro"].isActive)
        #expect(perennial.snapshot.memberships.map(\.ownership) == [.assigned])
        #expect(perennial.snapshot.groups.isEmpty)
        #expect(try await perennial.purchase("pro.monthly").outcome == .alreadyHad)
        store.advance(days: 40)
        #expect(perennial["pro"].isActive && perennial.snapshot.memberships.count == 1)
        store.unassigns("pro.monthly")
        #expect(perennial["pro"].state == .revoked)
    }
}
