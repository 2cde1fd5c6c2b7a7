import Dashboard
import Engine
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The pages about operators, their own accounts, and the audit.
struct OperatorPages: PageGroup {
    let routes: DashboardRoutes
}

/// Pages about people: operators, the operator's own account, and the audit.
extension OperatorPages {
    /// The number of entries on a page of the audit.
    private static let auditEntries = 100

    func add(to router: Router<ServerContext>) {
        routes.page("/audit", for: .admin, of: router, audit)
        guard access.developer == nil else { return }
        routes.page("/operators", for: .manager, of: router) { page in try await operators(page) }
        routes.act("/operators", for: .manager, of: router, invite)
        for (word, isBlocked) in [("block", true), ("unblock", false)] {
            routes.act("/operators/{operator}/\(word)", for: .manager, of: router) { page, _ in
                try await engine.operators.setBlock(
                    isBlocked, of: try page.parameter("operator"), by: page.visit.viewer.name)
                return .done(isBlocked ? .operatorBlocked : .operatorUnblocked, .operators)
            }
        }
        routes.act("/operators/{operator}/roles", for: .manager, of: router) { page, form in
            try await engine.operators.setRoles(
                of: try page.parameter("operator"), to: try roles(form),
                by: page.visit.viewer.name)
            return .done(.roleChanged, .operators)
        }
        routes.act("/operators/{operator}/link", for: .manager, of: router) { page, _ in
            try requirePasswords()
            let name = try page.parameter("operator")
            let token = try await engine.operators.resetLink(for: name, by: page.visit.viewer.name)
            return .page(try await operators(page, made: token, for: name))
        }
        routes.act("/operators/{operator}/sign-out", for: .manager, of: router) { page, _ in
            let account = try await engine.operators.named(try page.parameter("operator"))
            try await engine.sessions.signOutEverywhere(account.name, by: page.visit.viewer.name)
            return .done(.signedOutEverywhere, .operators)
        }
        routes.act("/operators/{operator}/withdraw", for: .manager, of: router) { page, _ in
            try await engine.operators.withdrawLinks(
                for: try page.parameter("operator"), by: page.visit.viewer.name)
            return .done(.linkWithdrawn, .operators)
        }
        addAccount(to: router)
        addPasskeys(to: router)
    }

    private func addAccount(to router: Router<ServerContext>) {
        routes.page("/account", of: router) { page in try await account(page) }
        routes.act("/account/password", for: .session, of: router, changePassword)
        routes.act("/account/sign-out", for: .session, of: router) { page, _ in
            let name = page.visit.viewer.name
            try await engine.sessions.signOutEverywhere(name, by: name)
            return .response(signedOut)
        }
        routes.act("/logout", for: .session, of: router) { page, _ in
            if let session = page.visit.session {
                try await engine.sessions.signOut(token: session.token)
            }
            return .response(signedOut)
        }
    }

    private var signedOut: Response {
        var response = Response(
            status: .seeOther, headers: [.location: DashboardPath.login.text])
        response.headers.append(access.sessionField(nil))
        return response
    }

    // MARK: - Operators

    private func operators(
        _ page: PageRequest, made token: String? = nil, for name: String = ""
    ) async throws -> String {
        let made = token.map { token in
            let path = DashboardPath.link(token).text
            return OperatorsPage.MadeLink(name: name, url: access.origin.url(path) ?? path)
        }
        let identities = try await engine.operators.identities()
        return OperatorsPage(
            operators: try await engine.operators.all().map { account in
                OperatorsPage.Operator(
                    name: account.name, nameAtProvider: identities[account.name]?.fullName,
                    roles: Self.roles(account.roles),
                    signedInAt: account.signedInAt.map { Timestamp($0) },
                    isBlocked: account.blockedAt != nil)
            },
            links: try await engine.operators.links().filter { $0.kind != .first }.map { link in
                OperatorsPage.Link(
                    name: link.operatorName ?? "",
                    roles: link.kind == .reset ? nil : Self.roles(link.roles),
                    author: link.author, until: Timestamp(link.until))
            },
            apps: engine.context.appIDs.map(\.rawValue), made: made,
            takesPasswords: access.takesPasswords
        ).html(in: page.frame)
    }

    private static func roles(_ roles: OperatorRoles) -> [OperatorsPage.Role] {
        let all = roles.everywhere.map { OperatorsPage.Role(app: nil, role: Viewer.Role($0)) }
        return (all.map { [$0] } ?? [])
            + roles.byApp.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                OperatorsPage.Role(app: $0.key.rawValue, role: Viewer.Role($0.value))
            }
    }

    @Sendable private func invite(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        try requirePasswords()
        let name = form["name"] ?? ""
        let token = try await engine.operators.invite(
            name, as: try roles(form), by: page.visit.viewer.name)
        return .page(try await operators(page, made: token, for: name))
    }

    /// Refuses an act that is about passwords if nobody may sign in with one.
    private func requirePasswords() throws {
        guard access.takesPasswords else {
            throw ProblemError(
                .operatorNotValid,
                detail: "Nobody signs in with a password here: add people to a group of the "
                    + "provider, or run `perennial operators` on the server.")
        }
    }

    /// The role that a form names, for one app or for all.
    private func roles(_ form: FormFields) throws -> OperatorRoles {
        guard let role = form["role"].flatMap(OperatorRole.init(rawValue:)) else {
            throw ProblemError(.operatorNotValid, detail: "role must be viewer, support or admin.")
        }
        guard let app = form["for"] else {
            throw ProblemError(
                .operatorNotValid,
                detail: "for must be an app, or \(OperatorsPage.everyApp) for every app.")
        }
        return app == OperatorsPage.everyApp
            ? OperatorRoles(everywhere: role) : OperatorRoles(byApp: [AppID(rawValue: app): role])
    }

    // MARK: - Account

    func account(
        _ page: PageRequest, trouble: String? = nil, passkeyTrouble: String? = nil
    ) async throws -> String {
        let name = page.visit.viewer.name
        let sessions = try await engine.sessions.all(of: name)
        var hasPassword = access.takesPasswords
        if hasPassword { hasPassword = try await engine.sessions.hasPassword(name) }
        return AccountPage(
            sessions: sessions.map { session in
                AccountPage.Session(
                    address: session.address, agent: session.agent,
                    createdAt: Timestamp(session.createdAt), usedAt: Timestamp(session.usedAt),
                    isThis: session.hash == page.visit.session?.stored.hash)
            }, trouble: trouble, hasPassword: hasPassword,
            passkeys: hasPassword ? try await passkeys(of: page) : .hidden,
            passkeyTrouble: passkeyTrouble
        ).html(in: page.frame)
    }

    @Sendable private func changePassword(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        guard let session = page.visit.session else { throw ProblemError(.formOutdated) }
        try requirePasswords()
        let password = form["password"] ?? ""
        guard password == form["repeated"] ?? "" else {
            return .page(try await account(page, trouble: "The two passwords differ."))
        }
        let place = SignInRoutes(server: server, access: access)
            .place(page.request, page.context)
        do {
            let wrong = try await engine.sessions.changePassword(
                of: page.visit.viewer.name, from: form["former"] ?? "", to: password,
                keeping: session.token, at: place)
            switch wrong {
            case nil: return .done(.passwordChanged, .account)
            case .shut(let until, let limit):
                let trouble = LoginPage.Limit(limit).sentence(until: Timestamp(until))
                return .page(try await account(page, trouble: trouble))
            case .wrong, .session, .unfinished:
                let trouble = "The current password is wrong."
                return .page(try await account(page, trouble: trouble))
            }
        } catch EngineFailure.invalidOperator(let sentence) {
            return .page(try await account(page, trouble: sentence))
        } catch EngineFailure.busy {
            let trouble = "The server is busy. Send the form again in a few seconds."
            return .page(try await account(page, trouble: trouble))
        }
    }

    // MARK: - Audit

    @Sendable private func audit(_ page: PageRequest) async throws -> String {
        let isOfServer = page.query["of"] == "server" && page.visit.viewer.managesOperators
        let list = try await server.auditRoutes.list(
            of: isOfServer ? nil : app, after: page.cursor, limit: Self.auditEntries)
        return Dashboard.AuditPage(
            entries: list.items, next: list.nextCursor, isOfServer: isOfServer
        ).html(in: page.frame)
    }
}

extension PerennialContract.AuditEntry {
    package init(_ entry: RecordedAct) {
        self.init(
            auditID: "aud_\(entry.id)", at: Timestamp(entry.at), author: entry.author,
            act: entry.act, environment: entry.environment.map { StoreEnvironment($0) },
            customerID: entry.customer?.rawValue, subject: entry.subject,
            before: entry.stateBefore, after: entry.stateAfter)
    }
}
