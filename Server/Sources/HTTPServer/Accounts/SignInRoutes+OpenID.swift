import Dashboard
import Engine
import HTTPTypes
import Hummingbird
import Ledger
import Logging
import OpenIDConnect
import PerennialContract

/// The sign-in by a provider of OpenID Connect: the way to the provider, and the way back.
///
/// The way back is checked in this order: the browser's ticket; `state`; the provider's answer; the
/// ID token; the groups. Only then is anything stored. Pages and logs contain neither the code nor
/// a token.
extension SignInRoutes {
    func addProvider(_ provider: ProviderAccess, to router: Router<ServerContext>) {
        get(DashboardPath.provider.text, of: router) { request, context in
            try await begin(at: provider, request, context)
        }
        get(DashboardPath.providerAnswer.text, of: router) { request, context in
            try await complete(at: provider, request, context)
        }
    }

    /// Sends the browser to the provider, with a ticket in a cookie.
    private func begin(
        at provider: ProviderAccess, _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        let next = DashboardRoutes.local(FormFields(request.uri.query ?? "")["next"])
        let ticket = engine.sessions.ticket(returningTo: next)
        do {
            let address = try await provider.client.authorizationURL(
                for: ticket, at: engine.context.serverTime)
            var response = Response(status: .seeOther, headers: [.location: address])
            response.headers.append(
                access.ticketField(try await engine.sessions.cookie(of: ticket)))
            return response
        } catch let failure as OpenIDFailure {
            return self.failure(failure, of: provider, context)
        }
    }

    /// Begins a session if the provider has signed the visitor in. The first answer with the
    /// `state` of a ticket uses the ticket up, whatever the answer says. So each request to the
    /// provider needs a ticket of its own, and one network can waste only a few requests.
    private func complete(
        at provider: ProviderAccess, _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        let fields = FormFields(request.uri.query ?? "")
        guard let cookie = request.cookie(access.ticketCookie),
            let ticket = try await engine.sessions.ticket(inCookie: cookie),
            let state = fields["state"], ticket.hasState(state)
        else {
            return refusal(.outdated, .badRequest, "no ticket with this state", provider, context)
        }
        guard try await engine.sessions.use(ticket) else {
            return refusal(.outdated, .badRequest, "the ticket was used before", provider, context)
        }
        let network = place(request, context).network
        guard provider.meter.begin(network) else {
            return refusal(.busy, .serviceUnavailable, "too many failures", provider, context)
        }
        var response: Response
        do {
            defer { provider.meter.complete(network) }
            let identity = try await identity(in: fields, of: provider, ticket)
            response = try await session(of: identity, by: ticket, at: provider, request, context)
        } catch let failure as OpenIDFailure {
            provider.meter.recordFailure(of: network)
            response = self.failure(failure, of: provider, context)
        }
        response.headers.append(access.ticketField(nil))
        return response
    }

    private func identity(
        in fields: FormFields, of provider: ProviderAccess, _ ticket: SignInTicket
    ) async throws(OpenIDFailure) -> VerifiedIdentity {
        if let code = fields["error"] { throw .refusal(code) }
        guard let code = fields["code"] else { throw .refusal("invalid_request") }
        return try await provider.client.identity(
            code: code, issuer: fields["iss"], for: ticket, at: engine.context.serverTime)
    }

    private func session(
        of identity: VerifiedIdentity, by ticket: SignInTicket, at provider: ProviderAccess,
        _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        let result: ProviderSignInResult
        do {
            result = try await engine.sessions.signIn(
                identity, as: provider.roles.roles(of: identity.groups),
                for: provider.sessionLife, from: place(request, context))
        } catch EngineFailure.limitExceeded(let what, let limit) {
            let reason =
                "This server has the maximum of \(limit) \(what). Ask an admin to block accounts "
                + "that nobody uses, and to withdraw links."
            return refusal(
                .noAccount(reason: reason), .forbidden, "no account left", provider, context)
        }
        switch result {
        case .session(let token): return session(token, next: ticket.next)
        case .withoutRole:
            let claim = provider.client.settings.groupsClaim
            return refusal(.withoutRole(claim: claim), .forbidden, "no role", provider, context)
        case .blocked(let name):
            return refusal(
                .blocked, .forbidden, "the operator \(name) is blocked", provider, context)
        }
    }

    // MARK: - Failures

    /// A page that refuses a sign-in, and a line in the log that says why.
    private func refusal(
        _ cause: ProviderPage.Cause, _ status: HTTPResponse.Status, _ reason: String,
        _ provider: ProviderAccess, _ context: ServerContext
    ) -> Response {
        recordRefusal(reason, provider, context)
        return page(cause, status, of: provider, context)
    }

    private func recordRefusal(
        _ reason: String, _ provider: ProviderAccess, _ context: ServerContext
    ) {
        context.logger.warning(
            "a sign-in by the provider failed",
            metadata: [
                "issuer": .string(provider.client.settings.issuer.text),
                "reason": .string(reason), "request_id": .string(context.requestID),
            ])
    }

    private func failure(
        _ failure: OpenIDFailure, of provider: ProviderAccess, _ context: ServerContext
    ) -> Response {
        recordRefusal(failure.description, provider, context)
        switch failure {
        case .unavailable: return page(.unavailable, .badGateway, of: provider, context)
        case .busy: return page(.busy, .serviceUnavailable, of: provider, context)
        case .unreadable(let reason):
            return page(.invalid(reason: reason), .badGateway, of: provider, context)
        case .rejected(let defect):
            return page(.invalid(reason: defect.rawValue), .forbidden, of: provider, context)
        case .refused(let code):
            return page(.refused(code: code), .forbidden, of: provider, context)
        }
    }

    private func page(
        _ cause: ProviderPage.Cause, _ status: HTTPResponse.Status, of provider: ProviderAccess,
        _ context: ServerContext
    ) -> Response {
        var response = DashboardRoutes.page(
            ProviderPage(
                host: access.host, provider: provider.name, cause: cause,
                takesPasswords: access.takesPasswords, requestID: context.requestID
            ).html(), status: status)
        // The page's address contains the code.
        response.headers[.referrerPolicy] = "no-referrer"
        return response
    }
}

extension DashboardAccess {
    /// The name of the cookie with the ticket of a sign-in that has begun: see ``sessionCookie``.
    var ticketCookie: String {
        origin.isSecure ? "__Host-perennial-sign-in" : "perennial-sign-in"
    }

    /// The field `Set-Cookie` that stores a ticket in a browser, or deletes it if there is none. A
    /// browser sends the cookie when the provider leads back here, but not with other requests of
    /// another site.
    func ticketField(_ ticket: String?) -> HTTPField {
        cookieField(ticketCookie, ticket, life: SignInTicket.life, sameSite: "Lax")
    }
}
