import Foundation
import PerennialContract
import Testing

@testable import Perennial

/// The SDK's requests about seats, to the store and to the server.
@Suite(.timeLimit(.minutes(1))) struct SeatTests {
    private let clock = VirtualClock()
    private let signer = TestSigner("one")
    private let store = SeatStore()
    private let server: SeatServer
    private let folder: TemporaryFolder

    init() throws {
        server = SeatServer(clock, signer: signer)
        folder = try TemporaryFolder(server: "http://late.test")
    }

    private func app(_ customer: String? = "anna", isOffline: Bool = false) throws -> Perennial {
        var configuration = Perennial.Configuration(
            server: URL(string: "http://late.test")!, key: "pk_birds")
        configuration.folder = folder.url
        configuration.customer = customer
        configuration.trustedKeys = [signer.trusted]
        configuration.proof = { "proof of \($0)" }
        configuration.log = Perennial.LogHandler(level: .error) { _, _, _ in }
        let server = server
        return Perennial(
            configuration, store: store, clock: clock, files: DeviceFiles(configuration),
            transport: { request in
                if isOffline { throw URLError(.notConnectedToInternet) }
                return try await server.send(request)
            })
    }

    private func code(
        _ body: () async throws -> Void
    ) async -> Perennial.Failure.Code? {
        do {
            try await body()
            return nil
        } catch { return (error as? Perennial.Failure)?.code }
    }

    // MARK: - Buying

    @Test func `seats are bought by their total number, and the purchase is posted`() async throws {
        let app = try app()
        let purchase = try await app.purchase("pro.monthly", .init(seats: 7))
        #expect(purchase.outcome == .bought && purchase.isKeptByServer)
        #expect(store.sheets.map(\.seats) == [7] && store.sheets.map(\.quantity) == [1])
        #expect(purchase.snapshot["pro"].isActive)
        let product = try await app.products(["pro.monthly"]).first
        #expect(product?.isSoldInSeats == true)
        #expect(product?.price(of: 7) == Decimal(string: "65.93"))
        await app.stop()
    }

    @Test func `an impossible purchase of seats is refused before a sheet is shown`() async throws {
        let app = try app()
        #expect(
            await code { try await app.purchase("pro.monthly", .init(seats: 0)) }
                == .seatsNotPositive)
        #expect(
            await code { try await app.purchase("nothing", .init(seats: 2)) } == .productUnknown)
        store.books.withLock { $0.tiers = [] }
        #expect(
            await code { try await app.purchase("pro.monthly", .init(seats: 2)) } == .seatsNotSold)
        store.books.withLock { $0.tiers = SeatStore.Books().tiers }
        try await app.purchase("pro.monthly", .init(seats: 5))
        for (seats, refusal) in [
            (5, Perennial.Failure.Code.seatsUnchanged), (4, .seatReductionNotAllowed),
            (-3, .seatsNotPositive),
        ] {
            #expect(
                await code { try await app.purchase("pro.monthly", .init(seats: seats)) } == refusal
            )
        }
        #expect(store.sheets.count == 1)
        await app.stop()
    }

    @Test func `seats can be added to a running plan, but the plan cannot be bought twice`()
        async throws
    {
        let app = try app()
        try await app.purchase("pro.monthly", .init(seats: 5))
        let again = try await app.purchase("pro.monthly")
        #expect(again.outcome == .alreadyHad && store.sheets.count == 1)
        let added = try await app.purchase("pro.monthly", .init(seats: 8))
        #expect(added.outcome == .bought && store.sheets.map(\.seats) == [5, 8])
        await app.stop()
    }

    @Test func `the store's errors about seats become failures with the same names`() async throws {
        let app = try app()
        let rows: [(StoreError, Perennial.Failure.Code)] = [
            (.seatReduction, .seatReductionNotAllowed), (.seatsNotSold, .seatsNotSold),
        ]
        for (error, expected) in rows {
            store.books.withLock { $0.failure = error }
            #expect(
                await code { try await app.purchase("pro.monthly", .init(seats: 9)) } == expected)
        }
        await app.stop()
    }

    @Test func `a refund of some seats is posted to the server`() async throws {
        store.books.withLock { $0.listed = [SeatStore.document("1", seats: 5)] }
        let app = try app()
        try await eventually("the purchase is posted") {
            await app.enterForeground()
            return server.books.withLock { $0.posted.count } == 1
        }
        let refunded = SeatStore.document("1", seats: 5, revoked: 2, signed: 1000)
        store.books.withLock { $0.listed = [refunded] }
        try await eventually("the refund is posted") {
            await app.enterForeground()
            return server.books.withLock { $0.posted.last } == refunded.jws
        }
        // A document that is signed again without a change is not new.
        let again = SeatStore.document("1", seats: 5, revoked: 2, signed: 2000)
        store.books.withLock { $0.listed = [again] }
        await app.enterForeground()
        #expect(server.books.withLock { $0.posted.count } == 2)
        await app.stop()
    }

    // MARK: - The purchaser

    @Test func `the purchaser sees all members, page by page`() async throws {
        server.books.withLock { books in
            books.claims = (1...5).map {
                SeatClaim(
                    claimID: "c\($0)", customerID: $0 == 2 ? nil : "member\($0)",
                    standing: $0 == 5 ? .waiting : .held, claimedAt: clock.now())
            }
        }
        let app = try app()
        let group = try await app.seats(of: "1")
        #expect(group.id == "1" && group.product == "pro.monthly" && group.host == .developer)
        #expect((group.seats, group.seatsAtRenewal, group.available) == (8, 6, 2))
        #expect(group.members.map(\.id) == ["c1", "c2", "c3", "c4", "c5"])
        #expect(group.members.map(\.customer) == ["member1", nil, "member3", "member4", "member5"])
        #expect(group.members.last?.standing == .waiting)
        #expect(
            server.requests.map(\.line) == [
                "GET /v1/purchases/1/seats?customer_id=anna",
                "GET /v1/purchases/1/seats?after=2&customer_id=anna",
                "GET /v1/purchases/1/seats?after=4&customer_id=anna",
                "GET /v1/purchases/1/invitations?customer_id=anna",
            ])
        #expect(server.requests.allSatisfy { $0.proof == "proof of anna" })
        await app.stop()
    }

    @Test func `an invitation shows its token once, and can be withdrawn`() async throws {
        let app = try app()
        let invitation = try await app.inviteToSeat(of: "1", for: "ben", within: 3600)
        #expect(invitation.token == "secret" && invitation.customer == "ben")
        let open = try await app.seats(of: "1").invitations
        #expect(open.map(\.id) == [invitation.id] && open.map(\.token) == [nil])
        try await app.withdrawInvitation(invitation.id, of: "1")
        #expect(try await app.seats(of: "1").invitations.isEmpty)
        let made = server.requests.first
        #expect(made?.line == "POST /v1/purchases/1/invitations?customer_id=anna")
        #expect(made?.body.contains(#""expires_in_seconds":3600"#) == true)
        #expect(
            server.requests.contains {
                $0.line == "DELETE /v1/purchases/1/invitations/i1?customer_id=anna"
            })
        await app.stop()
    }

    // MARK: - A member

    @Test func `a member joins, has access offline, and leaves the group`() async throws {
        let first = try app("ben")
        #expect(!first["pro"].isActive)
        let joined = try await first.claimSeat("secret")
        #expect(joined["pro"].isActive && joined["pro"].basis == .server)
        #expect(joined.memberships.map(\.seat) == [.init(id: "claim-1", standing: .held)])
        // The device's App Store does not know the membership.
        let right = await first.engine?.state.serverEvidence?.rights["pro"]
        #expect(right?.isActive == true && right?.originalTransactionID == nil)
        let asked = server.requests.last
        #expect(asked?.line == "POST /v1/seats/claims" && asked?.proof == "proof of ben")
        #expect(asked?.body.contains(#""customer_id":"ben""#) == true)
        #expect(asked?.body.contains(#""token":"secret""#) == true)
        await first.stop()

        // Without a network the token decides, and the store's lists are not used.
        let offline = try app("ben", isOffline: true)
        #expect(offline["pro"].isActive && offline["pro"].basis == .token)
        try await eventually("the store was read") {
            await offline.engine?.state.isStoreRead == true
        }
        #expect(offline["pro"].isActive && offline["pro"].basis == .token)
        await offline.stop()

        let again = try app("ben")
        try await again.leaveSeat("claim-1")
        #expect(!again["pro"].isActive && again["pro"].isKnown)
        #expect(again.snapshot.memberships.isEmpty)
        #expect(
            server.requests.last?.line == "DELETE /v1/seats/claims/claim-1?customer_id=ben")
        await again.stop()
    }

    @Test func `if the server refuses a request about seats, the failure has the server's code`()
        async throws
    {
        let app = try app("ben")
        for code in [ProblemCode.seatsTaken, .invitationUnknown, .purchaserNeedsNoSeat] {
            server.books.withLock { $0.problem = (code, 409) }
            #expect(
                await self.code { try await app.claimSeat("secret") }?.rawValue == code.rawValue)
            #expect(
                await self.code { try await app.leaveSeat("c") }?.rawValue == code.rawValue)
        }
        #expect(!app["pro"].isActive)
        await app.stop()
    }

    @Test func `without a network, calls about seats fail`() async throws {
        let app = try app("ben", isOffline: true)
        for call in [
            { () async throws in _ = try await app.claimSeat("secret") },
            { () async throws in _ = try await app.seats(of: "1") },
            { () async throws in try await app.removeSeat("claim-1") },
        ] {
            #expect(await code(call) == .serverUnreachable)
        }
        await app.stop()
    }
}
