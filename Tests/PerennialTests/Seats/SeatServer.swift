import Foundation
import PerennialContract

@testable import Perennial

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A server in memory that manages the seats of one group, of which anna is the purchaser.
final class SeatServer: Sendable {
    struct Request: Hashable, Sendable {
        var line: String
        var body: String
        var proof: String?
    }

    struct Books: Sendable {
        var requests: [Request] = []
        var claims: [SeatClaim] = []
        var invitations: [SeatInvitation] = []
        /// The number of claims on one page.
        var pageSize = 2
        /// The customers who have a seat, and the entitlement that it opens.
        var members: [String: String] = [:]
        /// The failure of the next answer about seats.
        var problem: (code: ProblemCode, status: Int)?
        /// The signed transactions that were posted.
        var posted: [String] = []
    }

    let books = Locked(Books())
    let signer: TestSigner
    let clock: VirtualClock

    init(_ clock: VirtualClock, signer: TestSigner) {
        self.clock = clock
        self.signer = signer
    }

    /// The requests about seats and invitations.
    var requests: [Request] {
        books.withLock { $0.requests }.filter {
            $0.line.contains("seats") || $0.line.contains("invitations")
        }
    }

    @Sendable func send(_ request: URLRequest) async throws -> (Data, URLResponse) {
        let url = request.url
        let line =
            "\(request.httpMethod ?? "") \(url?.path ?? "")"
            + (url?.query.map { "?\($0)" } ?? "")
        books.withLock {
            $0.requests.append(
                Request(
                    line: line, body: String(decoding: request.httpBody ?? Data(), as: UTF8.self),
                    proof: request.value(forHTTPHeaderField: "Perennial-Customer-Proof")))
        }
        return try respond(to: request, line)
    }

    private func respond(
        to request: URLRequest, _ line: String
    ) throws -> (Data, URLResponse) {
        let parts = (request.url?.path ?? "").split(separator: "/").map(String.init)
        let isSeats = line.contains("seats") || line.contains("invitations")
        if isSeats, let problem = books.withLock({ $0.problem }) {
            let body = Problem(
                code: problem.code, status: problem.status, title: "No.", remedy: "Ask for less.")
            return (try JSONEncoder().encode(body), try LateServer.response(problem.status))
        }
        switch (request.httpMethod ?? "", parts.dropFirst().first ?? "", parts.last ?? "") {
        case ("GET", "offerings", _):
            var offerings = LateServer.offerings(["pro.monthly": ["pro"]])
            let text = String(decoding: try JSONEncoder().encode(offerings), as: UTF8.self)
            offerings.jws = signer.jws(
                #"{"iss":"perennial","aud":"birds","iat":1798000000,"# + text.dropFirst(),
                type: SignedOfferings.type)
            return try respond(offerings)
        case ("GET", "jwks.json", _): return try respond(TokenKeySet(keys: [signer.published]))
        case ("GET", "customers", let id): return try respond(customer(id))
        case ("POST", "purchases", "invitations"):
            return try respond(invitation(request.httpBody ?? Data()))
        case ("POST", "purchases", "purchases"):
            return try respond(post(request.httpBody ?? Data()))
        case ("GET", "purchases", "seats"): return try respond(group(line))
        case ("GET", "purchases", "invitations"):
            return try respond(SeatInvitationList(items: books.withLock { $0.invitations }))
        case ("DELETE", "purchases", let id):
            books.withLock { $0.invitations.removeAll { $0.invitationID == id } }
            return (Data(), try LateServer.response(204))
        case ("POST", "seats", _): return try respond(claim(request.httpBody ?? Data()))
        case ("DELETE", "seats", let id):
            books.withLock { books in
                books.claims.removeAll { $0.claimID == id }
                books.members = books.members.filter { $0.value != id }
            }
            return (Data(), try LateServer.response(204))
        default: return (Data(), try LateServer.response(404))
        }
    }

    private func respond(_ body: some Encodable) throws -> (Data, URLResponse) {
        clock.advance(milliseconds: 1)
        return (try JSONEncoder().encode(body), try LateServer.response(200))
    }

    // MARK: - Answers

    private func group(_ line: String) -> SeatGroup {
        books.withLock { books in
            let start =
                line.split(separator: "after=").dropFirst().first
                .flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
            let page = books.claims.dropFirst(start).prefix(books.pageSize)
            let next = start + page.count
            return SeatGroup(
                originalTransactionID: "1", environment: .production, productID: "pro.monthly",
                invitations: .developer, seats: 8, seatsAtRenewal: 6,
                claimed: books.claims.count, available: 7 - books.claims.count, waiting: 0,
                renewsAt: nil, endsAt: Timestamp(milliseconds: 1_800_000_000_000),
                claims: Array(page), nextCursor: next < books.claims.count ? "\(next)" : nil)
        }
    }

    private func invitation(_ body: Data) throws -> SeatInvitation {
        let wish = try JSONDecoder().decode(SeatInvitationRequest.self, from: body)
        let seconds = Int64(wish.expiresInSeconds ?? 604_800)
        return books.withLock { books in
            let made = SeatInvitation(
                invitationID: "i\(books.invitations.count + 1)", token: "secret",
                customerID: wish.customerID, createdAt: clock.now(),
                expiresAt: Timestamp(milliseconds: clock.now().milliseconds + seconds * 1000))
            var kept = made
            kept.token = nil
            books.invitations.insert(kept, at: 0)
            return made
        }
    }

    private func claim(_ body: Data) throws -> SeatClaim {
        let wish = try JSONDecoder().decode(SeatClaimRequest.self, from: body)
        return books.withLock { books in
            let id = "claim-\(books.claims.count + 1)"
            let claim = SeatClaim(
                claimID: id, customerID: wish.customerID, standing: .held, claimedAt: clock.now())
            books.claims.append(claim)
            books.members[wish.customerID] = id
            return claim
        }
    }

    private func post(_ body: Data) throws -> PerennialContract.Customer {
        let wish = try JSONDecoder().decode(PurchasesRequest.self, from: body)
        let posted = wish.signedTransactions ?? []
        books.withLock { $0.posted += posted }
        var customer = customer(wish.customerID)
        customer.outcomes = posted.indices.map {
            DocumentOutcome(member: "signed_transactions", index: $0, outcome: .kept)
        }
        return customer
    }

    private func customer(_ id: String) -> PerennialContract.Customer {
        let claim = books.withLock { $0.members[id] }
        let now = clock.now()
        let end = Timestamp(milliseconds: (now.milliseconds / 1000 + 10 * 86_400) * 1000)
        var customer = PerennialContract.Customer(
            customerID: id, environment: .production, asOf: now, serverTime: now)
        var rights = ""
        if let claim {
            customer.entitlements["pro"] = Entitlement(
                active: true, until: end, state: .paid, reason: "A seat.", willRenew: true,
                productID: "pro.monthly", purchaseID: claim)
            var seat = PerennialContract.Subscription(
                purchaseID: claim, productID: "pro.monthly", originalTransactionID: claim,
                state: .paid, period: .init(from: now, until: end), willRenew: true,
                renewsTo: nil, graceUntil: nil, price: nil,
                ownership: .init(rawValue: "assigned"), environment: .production)
            seat.seat = .init(claimID: claim, standing: .held)
            customer.subscriptions = [seat]
            rights = """
                "pro":{"state":"paid","until":\(end.milliseconds / 1000),\
                "original_transaction_id":"\(claim)","renews":true}
                """
        }
        let seconds = now.milliseconds / 1000
        customer.token = signer.token([
            "iat": "\(seconds)", "exp": "\(seconds + 3600)",
            "offline_until": "\(seconds + 30 * 86_400)", "seq": "\(now.milliseconds)",
            "sub": #""\#(id)""#, "entitlements": "{\(rights)}", "purchases": "{}",
        ])
        return customer
    }
}
