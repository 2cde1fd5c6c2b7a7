import Engine
import HTTPBasics
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The routes about seats: invitations, claims, and releases.
struct SeatRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.keyed(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/purchases/{original_transaction_id}/seats", "seats",
                    "The people who use a subscription that was bought in seats",
                    description: """
                        With an app key, customer_id is the purchaser, who needs a proof of \
                        identity.
                        """,
                    parameters: Self.purchaserParameters + [
                        .after,
                        .limit(usual: Self.seatClaimsDefault, most: SeatService.seatClaimsPageMax),
                    ], output: .json(SeatGroup.self)), seats),
            server.keyed(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/purchases/{original_transaction_id}/invitations", "invitations",
                    "The invitations to a group that can be used",
                    description: "App keys need the same as for GET …/seats. Tokens are left out.",
                    parameters: Self.purchaserParameters, output: .json(SeatInvitationList.self)),
                invitations),
            server.keyed(
                for: .support,
                OpenAPIOperation(
                    .post, "/v1/purchases/{original_transaction_id}/invitations", "invite",
                    "Invite somebody to a group",
                    description: """
                        An app key needs the same as for GET …/seats. The response, 201, has \
                        the token, which is not shown again. An invitation is for one person, and \
                        reserves no seat.
                        """,
                    parameters: Self.purchaserParameters, input: SeatInvitationRequest.self,
                    output: .created(PerennialContract.SeatInvitation.self)), invite),
            server.keyed(
                for: .support,
                OpenAPIOperation(
                    .delete,
                    "/v1/purchases/{original_transaction_id}/invitations/{invitation_id}",
                    "withdrawInvitation", "Withdraw an invitation",
                    description: "Idempotent. An app key needs the same as for GET …/seats.",
                    parameters: Self.purchaserParameters,
                    output: .json(PerennialContract.SeatInvitation.self)), withdrawInvitation),
            server.keyed(
                for: .support,
                OpenAPIOperation(
                    .post, Paths.seatClaims, "claimSeat", "Take a seat in a group",
                    description: """
                        The response is 201 for a new claim. It is 200 if the customer already has \
                        a claim on that purchase; the invitation can then still be used. An app \
                        key needs a token and a proof of the customer's identity. A secret key may \
                        name the purchase instead.
                        """, parameters: [.proof, .environment], input: SeatClaimRequest.self,
                    output: .created(PerennialContract.SeatClaim.self)), claim),
            server.keyed(
                for: .support,
                OpenAPIOperation(
                    .delete, "/v1/seats/claims/{claim_id}", "releaseSeat", "End a claim for ever",
                    description: """
                        Idempotent. With an app key, customer_id is the member or the purchaser, \
                        who needs a proof of identity.
                        """, parameters: [.proof, .speaker],
                    output: .json(PerennialContract.SeatClaim.self)), release),
        ]
    }

    private static let purchaserParameters: [OpenAPIParameter] = [.proof, .environment, .speaker]

    /// The number of claims on a page if the request sets no limit.
    static let seatClaimsDefault = 100

    @Sendable func seats(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let purchase = try Self.purchase(in: context, request)
        let position = try RequestReader.listPosition(in: request)
        let limit = try RequestReader.limit(
            in: request, usual: Self.seatClaimsDefault, most: SeatService.seatClaimsPageMax)
        let group = try await engine.seats.group(
            of: purchase, for: try await speaker(in: request, holder), app: holder.app,
            after: position, limit: limit)
        return try JSONResponse.ok(SeatGroup(group, isForApp: holder.kind == .app))
    }

    @Sendable func invitations(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let purchase = try Self.purchase(in: context, request)
        let open = try await engine.invitations.all(
            of: purchase, for: try await speaker(in: request, holder), app: holder.app)
        return try JSONResponse.ok(
            SeatInvitationList(items: open.map { PerennialContract.SeatInvitation($0) }))
    }

    @Sendable func invite(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let purchase = try Self.purchase(in: context, request)
        let speaker = try await speaker(in: request, holder)
        let asked = try await request.value(
            SeatInvitationRequest.self, max: BodyLimit.order, for: holder)
        let made = try await engine.invitations.invite(
            try NewInvitation(asked), to: purchase, for: speaker, app: holder.app)
        var invitation = PerennialContract.SeatInvitation(made.invitation)
        invitation.token = made.token
        return try JSONResponse.created(invitation)
    }

    @Sendable func withdrawInvitation(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let purchase = try Self.purchase(in: context, request)
        let id = try RequestReader.parameter("invitation_id", called: "invitation id", in: context)
        let withdrawn = try await engine.invitations.withdraw(
            id, of: purchase, for: try await speaker(in: request, holder), app: holder.app)
        return try JSONResponse.ok(PerennialContract.SeatInvitation(withdrawn))
    }

    @Sendable func claim(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let environment = try RequestReader.environment(in: request)
        let asked = try await request.value(
            SeatClaimRequest.self, max: BodyLimit.order, for: holder)
        let id = CustomerID(rawValue: asked.customerID)
        if holder.kind == .app {
            try await server.authorization.requireProvenIdentity(of: id, request.headers, holder)
        }
        let ticket: SeatTicket
        switch (asked.token, asked.originalTransactionID) {
        case (let token?, nil): ticket = .invitation(token)
        case (nil, let original?) where holder.kind == .secret:
            ticket = .purchase(
                PurchaseID(TransactionID(rawValue: original), in: environment))
        default: throw ProblemError(.seatTicketMissing)
        }
        let claimed = try await engine.seats.claim(
            by: ticket, for: id, isByApp: holder.kind == .app, app: holder.app)
        let claim = PerennialContract.SeatClaim(claimed, isForApp: false)
        return claimed.isNew ? try JSONResponse.created(claim) : try JSONResponse.ok(claim)
    }

    @Sendable func release(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.parameter("claim_id", called: "claim id", in: context)
        let ended = try await engine.seats.release(
            SeatClaimID(rawValue: id), for: try await speaker(in: request, holder),
            app: holder.app)
        return try JSONResponse.ok(
            PerennialContract.SeatClaim(ended, isForApp: holder.kind == .app))
    }

    // MARK: - Reading requests

    private static func purchase(
        in context: ServerContext, _ request: Request
    ) throws -> PurchaseID {
        let original = try RequestReader.parameter(
            "original_transaction_id", called: "original transaction id", in: context)
        return PurchaseID(
            TransactionID(rawValue: original), in: try RequestReader.environment(in: request))
    }

    /// The customer for whom a request acts on a group. An app must name the customer and send a
    /// proof; for a server the customer is optional.
    private func speaker(
        in request: Request, _ holder: StoredKey
    ) async throws -> CustomerID? {
        let named = request.uri.queryParameters["customer_id"].map {
            CustomerID(rawValue: String($0))
        }
        guard holder.kind == .app else { return named }
        guard let named else { throw ProblemError(.speakerMissing) }
        try await server.authorization.requireProvenIdentity(of: named, request.headers, holder)
        return named
    }
}

extension Request {
    /// Decodes the body for a route for apps and servers: strictly for a server, and leniently for
    /// an app.
    fileprivate func value<Value: Decodable>(
        _ type: Value.Type, max bytesMax: Int, for holder: StoredKey
    ) async throws -> Value {
        holder.kind == .secret
            ? try await value(type, max: bytesMax) : try await lenientValue(type, max: bytesMax)
    }
}

extension OpenAPIParameter {
    fileprivate static let speaker = customerID(
        "The customer in whose name the request acts. Required with an app key.")
}
