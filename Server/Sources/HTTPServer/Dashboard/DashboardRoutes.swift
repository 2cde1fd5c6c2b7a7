import Dashboard
import Engine
import HTTPTypes
import Hummingbird
import Ledger
import NIOCore
import PerennialContract
import Storage

/// The pages of the dashboard and their acts, which ``DashboardPath`` lists.
///
/// The pages call the functions of the HTTP API's routes, and show only the results of these
/// functions. A request is checked in this order: ``PageOrigin``; the token of the form; the
/// viewer's role; the operation itself.
///
/// One value serves one app. The paths of all apps are the same: see ``AppHandlers``.
struct DashboardRoutes: Sendable {
    /// The maximum size of a form, in bytes.
    static let formBytesMax = 16_384
    private static let themeSeconds = 31_536_000

    let server: PerennialServer
    let access: DashboardAccess
    let app: AppID
    let handlers: AppHandlers

    var engine: Engine { server.engine }

    typealias Page = @Sendable (PageRequest) async throws -> String
    typealias Act = @Sendable (PageRequest, FormFields) async throws -> ActResult

    /// Adds the pages of all apps.
    static func add(
        of server: PerennialServer, for access: DashboardAccess, to router: Router<ServerContext>
    ) {
        for asset in Asset.common + [PasskeyForm.script] { router.add(asset) }
        if access.developer == nil {
            SignInRoutes(server: server, access: access).add(to: router)
        }
        let handlers = AppHandlers(apps: server.engine.context.appIDs)
        for app in handlers.apps {
            Self(server: server, access: access, app: app, handlers: handlers).add(to: router)
        }
        // Added after the routes, so that this middleware gets only requests that no route answers.
        router.add(middleware: UnknownPages(handlers: handlers))
    }

    private func add(to router: Router<ServerContext>) {
        operationPages.add(to: router)
        customerPages.add(to: router)
        eventPages.add(to: router)
        webhookPages.add(to: router)
        notificationPages.addForwards(to: router)
        moneyPages.addCharts(to: router)
        addTheme(to: router)
        operatorPages.add(to: router)
        addUnknown()
        if access.developer != nil {
            act("/logout", for: .session, of: router) { _, _ in .done(.alwaysSignedIn, .overview) }
        }
    }

    // MARK: - Pages

    /// Adds a page.
    ///
    /// - Parameter permission: who may see the page.
    func page(
        _ path: String, for permission: Permission = .viewer, of router: Router<ServerContext>,
        _ html: @escaping Page
    ) {
        get(path, for: permission, of: router) { page in
            self.response(try await html(page), to: page.request)
        }
    }

    /// Adds a handler whose response is a page or a file.
    ///
    /// - Parameter permission: who may see the page.
    func get(
        _ path: String, for permission: Permission = .viewer, of router: Router<ServerContext>,
        _ answer: @escaping @Sendable (PageRequest) async throws -> Response
    ) {
        handlers.add(.get, path, for: app, to: router) { request, context in
            try await guarded(request, context) { visit in
                try permission.require(of: visit.viewer)
                let notices = Self.notices(in: request)
                return try await answer(try pageRequest(request, context, visit, notices))
            }
        }
    }

    /// Answers a request if its author is permitted to send it, and shows failures as pages.
    func guarded(
        _ request: Request, _ context: ServerContext,
        _ answer: (Visit) async throws -> Response
    ) async throws -> Response {
        if let refusal = access.origin.refusal(of: request.head) { return Self.refusal(refusal) }
        let visitor: Visitor
        do {
            try server.authorization.countAddress(of: request, context)
            visitor = try await access.visitor(of: request, context, app: app, engine)
        } catch {
            return Self.problem(error, request, context, host: access.host)
        }
        switch visitor {
        case .visit(let visit):
            context.author.record(operator: visit.viewer.name)
            do { return try await answer(visit) } catch {
                return try problem(error, request, context, visit)
            }
        case .unknown: return Self.signIn(request)
        case .elsewhere(let app): return handlers.redirect(request, to: app)
        case .nobody(let name):
            return Self.page(
                Card.nobody(name: name, host: access.host).html(), status: .forbidden)
        case .withoutApp:
            return Self.page(Card.noApp(host: access.host).html(), status: .forbidden)
        }
    }

    /// Responds to a form. The body may arrive long after the header. In between, the visitor may
    /// have been blocked or signed out, or got another role, so the visitor is looked up again.
    private func guardedForm(
        _ request: Request, _ context: ServerContext, max bytesMax: Int = formBytesMax,
        _ answer: (Visit, FormFields) async throws -> Response
    ) async throws -> Response {
        // The body of an unknown visitor is not read.
        try await guarded(request, context) { _ in
            let form = try await Self.form(in: request, max: bytesMax)
            return try await guarded(request, context) { visit in
                // The token proves that the form was shown to the same person, about the same app.
                guard SessionService.isFormToken(form["csrf"], of: visit.viewer.csrf) else {
                    throw ProblemError(.formOutdated)
                }
                return try await answer(visit, form)
            }
        }
    }

    /// Redirects to the sign-in, which then leads back to the page.
    private static func signIn(_ request: Request) -> Response {
        let next = request.method == .post ? nil : request.uri.description
        return Response(
            status: .seeOther, headers: [.location: DashboardPath.login.with("next", next).text])
    }

    private static func notices(in request: Request) -> [Notice] {
        request.cookie(DashboardNotice.cookie).flatMap(DashboardNotice.init).map { [$0.notice] }
            ?? []
    }

    private func pageRequest(
        _ request: Request, _ context: ServerContext, _ visit: Visit, _ notices: [Notice] = []
    ) throws -> PageRequest {
        let environment = try environment(in: request)
        return PageRequest(
            request: request, context: context, visit: visit, environment: environment,
            frame: frame(of: request, environment, visit, notices),
            query: FormFields(request.uri.query ?? ""))
    }

    /// Returns production unless the query says otherwise. An empty word counts as missing, because
    /// forms send empty fields.
    private func environment(in request: Request) throws -> Ledger.Environment {
        guard let word = FormFields(request.uri.query ?? "")["environment"] else {
            return .production
        }
        guard let environment = Ledger.Environment(rawValue: word) else {
            throw ProblemError(.environmentUnknown)
        }
        return environment
    }

    private func frame(
        of request: Request, _ environment: Ledger.Environment, _ visit: Visit,
        _ notices: [Notice]
    ) -> Frame {
        let waiting = engine.webhooks.states.filter { $0.app == app }.map(\.waiting).reduce(0, +)
        let open = operationPages.checks.cached.count { $0.state != .well }
        return Frame(
            viewer: visit.viewer, app: app.rawValue, apps: visit.apps.map(\.rawValue),
            environment: StoreEnvironment(environment), now: Timestamp(engine.context.serverTime),
            theme: request.cookie("theme").flatMap(Frame.Theme.init),
            isLive: request.method == .get,
            isSimulated: access.isSimulated, deliveriesWaiting: waiting, checksOpen: open,
            path: request.uri.description, notices: notices)
    }

    // MARK: - Acts

    /// Adds an act. An act for the app gets an entry in the audit: see ``AuditDraft``.
    ///
    /// - Parameter permission: who may carry out the act.
    /// - Parameter bytesMax: the maximum size of the form.
    func act(
        _ path: String, for permission: Permission, of router: Router<ServerContext>,
        max bytesMax: Int = formBytesMax, _ act: @escaping Act
    ) {
        handlers.add(.post, path, for: app, to: router) { request, context in
            try await guardedForm(request, context, max: bytesMax) { visit, form in
                try permission.require(of: visit.viewer)
                let page = try pageRequest(request, context, visit)
                let author = EventAuthor(
                    keyName: "dashboard", keyDigits: "", actor: visit.viewer.name)
                let pending = try begin(path, for: permission, page)
                page.audit.pending(pending)
                let result = try await EventAuthor.$current.withValue(author) {
                    try await PendingAct.$current.withValue(pending) { try await act(page, form) }
                }
                if let pending { await complete(pending, page) }
                return response(result, to: page)
            }
        }
    }

    static func form(
        in request: Request, max bytesMax: Int = formBytesMax
    ) async throws -> FormFields {
        let body = try await request.bytes(max: bytesMax)
        let text = String(buffer: body)
        guard !NULCharacter.isPercentEncoded(in: text), !text.utf8.contains(0) else {
            throw ProblemError(.bodyWithNUL)
        }
        return FormFields(text)
    }

    private func response(_ result: ActResult, to page: PageRequest) -> Response {
        switch result {
        case .page(let html): return response(html, to: page.request)
        case .response(let response): return response
        case .done(let notice, let path): return redirect(to: path, notice, page)
        }
    }

    /// Redirects to another page in the same environment, which shows a notice.
    func redirect(
        to path: DashboardPath, _ notice: DashboardNotice?, _ page: PageRequest
    ) -> Response {
        var response = Response(
            status: .seeOther,
            headers: [.location: path.in(StoreEnvironment(page.environment)).text])
        if let notice { response.setNotice(notice.rawValue) }
        return response
    }

    /// Changes the theme for browsers without scripts, and returns to the page.
    private func addTheme(to router: Router<ServerContext>) {
        handlers.add(.post, "/theme", for: app, to: router) { request, context in
            try await guardedForm(request, context) { _, form in
                guard let theme = form["theme"].flatMap(Frame.Theme.init) else {
                    throw ProblemError(.requestNotUnderstood, detail: "theme is light or dark.")
                }
                var response = Response(
                    status: .seeOther, headers: [.location: Self.local(form["next"])])
                response.headers[.setCookie] =
                    "theme=\(theme.rawValue); Path=/; Max-Age=\(Self.themeSeconds); SameSite=Lax"
                return response
            }
        }
    }

    /// Returns the path if this server has it, otherwise the path of the overview, because a form
    /// must not lead to another site.
    static func local(_ path: String?) -> String {
        guard let path, path.hasPrefix("/"), !path.hasPrefix("//"),
            path.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") })
        else { return DashboardPath.overview.text }
        return path
    }

    // MARK: - Responses

    func response(
        _ html: String, to request: Request, status: HTTPResponse.Status = .ok
    ) -> Response {
        var response = Self.page(html, status: status)
        // A notice is shown once.
        if request.cookie(DashboardNotice.cookie) != nil { response.setNotice(nil) }
        return response
    }

    /// A page for visitors without a session.
    static func page(_ html: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(dashboardPage: html, status: status)
    }

    private func problem(
        _ error: any Error, _ request: Request, _ context: ServerContext, _ visit: Visit
    ) throws -> Response {
        let found = Self.problem(error, context)
        // The problem that the page shows may itself be an unknown environment. So an unknown
        // environment is ignored here.
        let environment = (try? environment(in: request)) ?? .production
        let frame = frame(of: request, environment, visit, [])
        let wasAct = request.method == .post
        let page = ProblemPage(
            found.problem, wasAct: wasAct, origin: wasAct ? Self.origin(of: context) : nil)
        var response = response(
            page.html(in: frame), to: request,
            status: HTTPResponse.Status(code: found.problem.status))
        for field in found.headers { response.headers[field.name] = field.value }
        return response
    }

    /// Shows a problem on a page to an unknown visitor.
    static func problem(
        _ error: any Error, _ request: Request, _ context: ServerContext, host: String
    ) -> Response {
        let found = problem(error, context)
        let page = Card.problem(
            found.problem, host: host, wasAct: request.method == .post)
        var response = Self.page(
            page.html(), status: HTTPResponse.Status(code: found.problem.status))
        for field in found.headers { response.headers[field.name] = field.value }
        return response
    }

    /// Logs an error, and returns it with the request's id.
    private static func problem(_ error: any Error, _ context: ServerContext) -> ProblemError {
        var found =
            (error as? EngineFailure).map { ProblemError($0, subject: .customer) }
            ?? ProblemError(anything: error)
        found.log(requestID: context.requestID, to: context.logger)
        found.problem.requestID = context.requestID
        return found
    }

    /// The page that contains the form of an act on a customer or a webhook.
    private static func origin(of context: ServerContext) -> DashboardPath? {
        func parameter(_ name: String) -> String? {
            try? RequestReader.parameter(name, called: name, in: context)
        }
        return parameter("id").map(DashboardPath.customer)
            ?? parameter("webhook_id").map(DashboardPath.webhook)
    }

    static func refusal(_ sentence: String) -> Response {
        Response(
            status: .forbidden, headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: sentence)))
    }
}

extension Response {
    /// A page of the dashboard, with the headers that protect it.
    package init(dashboardPage html: String, status: HTTPResponse.Status = .ok) {
        self.init(
            status: status,
            headers: [
                .contentType: "text/html; charset=utf-8",
                .contentSecurityPolicy: Layout.contentSecurityPolicy,
                .referrerPolicy: "same-origin", .frameOptions: "DENY",
            ], body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
    }

    /// Sets the notice that the next page shows, or removes it.
    fileprivate mutating func setNotice(_ word: String?) {
        let age = word == nil ? 0 : DashboardNotice.secondsMax
        headers[.setCookie] =
            "\(DashboardNotice.cookie)=\(word ?? ""); Path=/; Max-Age=\(age); HttpOnly; "
            + "SameSite=Lax"
    }
}

extension HTTPField.Name {
    static let referrerPolicy = wellFormed("Referrer-Policy")
    fileprivate static let frameOptions = wellFormed("X-Frame-Options")
}
