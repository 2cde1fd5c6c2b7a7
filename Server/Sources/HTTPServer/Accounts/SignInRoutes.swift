import Dashboard
import Engine
import HTTPTypes
import Hummingbird
import Ledger
import NIOCore
import PerennialContract
import Storage

/// The pages for visitors who have not signed in: the sign-in itself, and links that work once.
struct SignInRoutes: Sendable {
    let server: PerennialServer
    let access: DashboardAccess

    var engine: Engine { server.engine }

    func add(to router: Router<ServerContext>) {
        get("/login", of: router, loginPage)
        post("/login", of: router, signIn)
        get("/links/{link}", of: router, linkPage)
        post("/links/{link}", of: router, accept)
        if let provider = access.provider { addProvider(provider, to: router) }
        if takesPasskeys { addPasskeys(to: router) }
    }

    typealias Answer = @Sendable (Request, ServerContext) async throws -> Response

    func get(
        _ path: String, of router: Router<ServerContext>, _ answer: @escaping Answer
    ) {
        router.get(RouterPath(path)) { try await guarded($0, $1, answer) }
    }

    /// Whether operators may sign in with a passkey.
    var takesPasskeys: Bool { access.takesPasswords && engine.passkeys.settings != nil }

    func post(
        _ path: String, of router: Router<ServerContext>, _ answer: @escaping Answer
    ) {
        router.post(RouterPath(path)) { try await guarded($0, $1, answer) }
    }

    /// Refuses requests from other sites, even a sign-in. Without this check, another site could
    /// sign a visitor in under another name without the visitor's knowledge.
    private func guarded(
        _ request: Request, _ context: ServerContext, _ answer: Answer
    ) async throws -> Response {
        if let refusal = access.origin.refusal(of: request.head) {
            return DashboardRoutes.refusal(refusal)
        }
        do {
            try server.authorization.countAddress(of: request, context)
            return try await answer(request, context)
        } catch {
            return DashboardRoutes.problem(error, request, context, host: access.host)
        }
    }

    // MARK: - Sign in

    @Sendable private func loginPage(
        _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        let next = DashboardRoutes.local(FormFields(request.uri.query ?? "")["next"])
        var isSignedIn = access.proxy?.user(of: request, context) != nil
        if !isSignedIn, let token = request.cookie(access.sessionCookie) {
            isSignedIn = try await engine.sessions.signedInOperator(token: token) != nil
        }
        guard !isSignedIn else {
            return Response(status: .seeOther, headers: [.location: next])
        }
        let state: LoginPage.State = try await engine.operators.hasAny() ? .ready : .firstRun
        return login("", next, state, .ok)
    }

    @Sendable private func signIn(
        _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        let form = try await DashboardRoutes.form(in: request)
        let name = form["name"] ?? ""
        let next = DashboardRoutes.local(form["next"])
        guard access.takesPasswords else { return login("", next, .ready, .forbidden) }
        let result: SignInResult
        do {
            result = try await engine.sessions.signIn(
                as: name, password: form["password"] ?? "", from: place(request, context))
        } catch {
            guard error == .busy else { throw error }
            return login(name, next, .busy, .serviceUnavailable)
        }
        switch result {
        case .session(let token): return session(token, next: next)
        case .unfinished(let ticket): return try await nextStep(ticket.returning(to: next))
        case .wrong(let left):
            return login(name, next, .wrong(triesLeft: left), .forbidden)
        case .shut(let until, let limit):
            return login(
                name, next, .shut(by: LoginPage.Limit(limit), until: Timestamp(until)),
                .tooManyRequests)
        }
    }

    private func login(
        _ name: String, _ next: String, _ state: LoginPage.State, _ status: HTTPResponse.Status
    ) -> Response {
        DashboardRoutes.page(
            LoginPage(
                host: access.host, name: name, next: next, state: state,
                provider: access.provider?.name, takesPasswords: access.takesPasswords,
                takesPasskeys: takesPasskeys
            ).html(), status: status)
    }

    func session(_ token: String, next: String) -> Response {
        var response = Response(status: .seeOther, headers: [.location: next])
        response.headers.append(access.sessionField(token))
        return response
    }

    func place(_ request: Request, _ context: ServerContext) -> SignInPlace {
        let address = access.address(of: request, context)
        return SignInPlace(
            address: address, network: CanonicalAddress(address)?.network,
            agent: request.headers[.userAgent] ?? "")
    }

    // MARK: - Links

    /// Shows what the link does, but does not use it, because mail programs open links.
    @Sendable private func linkPage(
        _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        let token = context.parameters.get("link") ?? ""
        guard let page = try await page(of: token) else { return try await ended }
        return DashboardRoutes.page(page.html())
    }

    @Sendable private func accept(
        _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        let token = context.parameters.get("link") ?? ""
        guard var page = try await page(of: token) else { return try await ended }
        let form = try await DashboardRoutes.form(in: request)
        page.name = form["name"] ?? ""
        do {
            let password = form["password"] ?? ""
            guard password == form["repeated"] ?? "" else {
                throw EngineFailure.invalidOperator("The two passwords differ.")
            }
            let result = try await engine.operators.accept(
                linkToken: token, name: page.name, password: password,
                from: place(request, context))
            switch result {
            case .session(let token): return session(token, next: DashboardPath.overview.text)
            case .unfinished(let ticket): return try await nextStep(ticket)
            case .wrong, .shut: return try await ended
            }
        } catch EngineFailure.invalidOperator(let sentence) {
            page.trouble = sentence
            return DashboardRoutes.page(page.html(), status: .badRequest)
        } catch EngineFailure.unknownLink { return try await ended }
    }

    private func page(of token: String) async throws -> LinkPage? {
        guard let link = try await engine.operators.link(token: token), permits(link) else {
            return nil
        }
        let kind: LinkPage.Kind
        switch (link.kind, link.operatorName) {
        case (.first, _): kind = .first
        case (.invitation, let name): kind = .invitation(name: name ?? "")
        case (.reset, let name): kind = .reset(name: name ?? "")
        }
        return LinkPage(host: access.host, token: token, kind: kind)
    }

    /// Whether a link may be used. Without passwords, only links that were made in a shell on the
    /// server may be: they are the way in while the provider is not available.
    private func permits(_ link: OperatorLink) -> Bool {
        access.takesPasswords || link.kind == .first
            || link.author == OperatorService.commandAuthor
    }

    private var ended: Response {
        get async throws {
            let isFirst = try await !engine.operators.hasAny()
            return DashboardRoutes.page(
                Card.linkEnded(host: access.host, isFirst: isFirst).html(), status: .notFound)
        }
    }
}

extension LoginPage.Limit {
    init(_ limit: SignInLimit) {
        switch limit {
        case .nameFromAddress: self = .nameFromAddress
        case .address: self = .address
        case .name: self = .name
        }
    }
}
