import Dashboard
import Engine
import HTTPTypes
import Hummingbird
import Ledger
import Storage

/// Who may see the dashboard, and at what address. A server without this value has no dashboard.
package struct DashboardAccess: Sendable {
    /// The viewer for all users of this machine, who need not sign in; nil if operators sign in.
    package var developer: Viewer?
    /// The address of the pages. A developer's pages are only on this machine.
    package var origin: PageOrigin
    /// A proxy that reports the origin of a request, and possibly the operator who sends it.
    package var proxy: TrustedProxy?
    /// The provider at which operators may sign in; nil if there is none.
    package var provider: ProviderAccess?
    /// Whether operators may sign in with a name and a password.
    package var takesPasswords = true
    /// Whether the configuration lets operators use passkeys, if browsers make them at the address.
    package var offersPasskeys = true
    /// Whether purchases are made in the simulator. The navigation then contains the phone.
    package var isSimulated: Bool

    /// A dashboard for operators, who sign in.
    package init(for operators: PageOrigin, behind proxy: TrustedProxy? = nil) {
        origin = operators
        self.proxy = proxy
        isSimulated = false
    }

    /// A dashboard for all users of this machine, without signing in.
    package init(developer: Viewer, isSimulated: Bool = false) {
        self.developer = developer
        self.isSimulated = isSimulated
        origin = .loopback
    }

    /// The developer at this machine, who may do everything.
    ///
    /// - Parameter random: two random numbers, from which the token of forms is made.
    package static func developer(random: (UInt64, UInt64)) -> Self {
        let token = [random.0, random.1].map { number in
            withUnsafeBytes(of: number) { Hexadecimal.text($0) }
        }.joined()
        return Self(
            developer: Viewer(name: "developer", role: .admin, csrf: token), isSimulated: true)
    }

    /// The name of the cookie with the token of a session. With the prefix `__Host-`, a browser
    /// accepts the cookie only over an encrypted connection and only from this host (RFC 6265bis).
    /// Without encryption, as on this machine, the prefix is not allowed.
    var sessionCookie: String { origin.isSecure ? "__Host-perennial" : "perennial" }

    /// The field `Set-Cookie` that begins a session in a browser, or ends the session if there is
    /// no token. The browser deletes the cookie when it is closed.
    func sessionField(_ token: String?) -> HTTPField {
        cookieField(sessionCookie, token, life: nil, sameSite: "Lax")
    }

    /// The field `Set-Cookie` of a cookie that scripts cannot read. Deletes the cookie if there is
    /// no value.
    ///
    /// - Parameter life: how long the browser stores the cookie. Nil: until it is closed.
    func cookieField(
        _ name: String, _ value: String?, life: Duration?, sameSite: String
    ) -> HTTPField {
        let seconds = value == nil ? 0 : life?.components.seconds
        let age = seconds.map { "; Max-Age=\($0)" } ?? ""
        let secure = origin.isSecure ? "; Secure" : ""
        return HTTPField(
            name: .setCookie,
            value: "\(name)=\(value ?? "")\(age); Path=/\(secure); HttpOnly; "
                + "SameSite=\(sameSite)")
    }

    /// The server's host, which is shown on the pages that need no sign-in.
    var host: String { origin.authority ?? "this machine" }

    /// The author of a request, and what the author may do for an app.
    func visitor(
        of request: Request, _ context: ServerContext, app: AppID, _ engine: Engine
    ) async throws -> Visitor {
        if let developer { return .visit(Visit(viewer: developer)) }
        if let name = proxy?.user(of: request, context) {
            guard let account = try await engine.operators.proxied(name) else {
                return .nobody(name)
            }
            let form = try await engine.sessions.formToken(ofProxied: account.name, app: app)
            return visitor(account, nil, form, app, engine.context.appIDs)
        }
        // An open live stream does not count as use of the session.
        guard let token = request.cookie(sessionCookie),
            let signedIn = try await engine.sessions.signedInOperator(
                token: token, isUse: !request.uri.path.hasPrefix(DashboardRoutes.livePrefix))
        else { return .unknown }
        let form = SessionService.formToken(ofSession: token, app: app)
        return visitor(
            signedIn.account, Visit.Session(token: token, stored: signedIn.session), form, app,
            engine.context.appIDs)
    }

    private func visitor(
        _ account: Operator, _ session: Visit.Session?, _ form: String, _ app: AppID,
        _ apps: [AppID]
    ) -> Visitor {
        let visible = apps.filter { account.roles.role(in: $0) != nil }
        guard let role = account.roles.role(in: app) else {
            return visible.first.map { .elsewhere($0) } ?? .withoutApp
        }
        let viewer = Viewer(
            name: account.name, role: Viewer.Role(role), csrf: form,
            managesOperators: account.roles.manageOperators, hasSession: session != nil,
            isAlsoViewer: role == .support && account.roles.seeMoney(in: app))
        return .visit(Visit(viewer: viewer, session: session, apps: visible))
    }
}

/// What is known about the author of a request.
enum Visitor: Sendable {
    case visit(Visit)
    /// The visitor has not signed in.
    case unknown
    /// A proxy has signed the visitor in, but there is no account with that name, or the account is
    /// blocked.
    case nobody(String)
    /// The operator may not see the requested app, but may see this app.
    case elsewhere(AppID)
    /// The operator has no role for any app.
    case withoutApp
}

/// The author of a request, and what the author may do for one app.
struct Visit: Sendable {
    struct Session: Sendable {
        var token: String
        var stored: OperatorSession
    }

    var viewer: Viewer
    /// The session of the author. Nil for the developer, and behind a proxy that signs people in.
    var session: Session?
    /// The apps that the author may see.
    var apps: [AppID] = []
}

extension Viewer.Role {
    init(_ role: OperatorRole) {
        switch role {
        case .viewer: self = .viewer
        case .support: self = .support
        case .admin: self = .admin
        }
    }

    /// Whether this role may do everything that another role may.
    func includes(_ other: Self) -> Bool {
        switch self {
        case .admin: true
        case .support: other != .admin
        case .viewer: other == .viewer
        }
    }
}
