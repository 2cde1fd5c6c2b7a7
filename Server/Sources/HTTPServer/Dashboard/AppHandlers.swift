import Dashboard
import Engine
import HTTPTypes
import Hummingbird
import Ledger
import Synchronization

/// The handlers of each path of the dashboard, for each app. The paths are the same for all apps: a
/// cookie contains the app that the operator has chosen.
final class AppHandlers: Sendable {
    typealias Handler = @Sendable (Request, ServerContext) async throws -> Response

    /// The name of the cookie, and of the query parameter that sets it.
    static let name = "app"
    private static let cookieSeconds = 31_536_000

    private struct Place: Hashable {
        var method: HTTPRequest.Method
        var path: String

        /// The place of pages that do not exist. No real path is empty.
        static let unknown = Place(method: .get, path: "")
    }

    /// The apps by name.
    let apps: [AppID]
    private let handlers = Mutex<[Place: [AppID: Handler]]>([:])

    init(apps: [AppID]) { self.apps = apps }

    /// Adds the handler of a path for one app. The first app also adds the path to the router.
    func add(
        _ method: HTTPRequest.Method, _ path: String, for app: AppID,
        to router: Router<ServerContext>, _ handler: @escaping Handler
    ) {
        let place = Place(method: method, path: path)
        let isFirst = handlers.withLock { handlers in
            defer { handlers[place, default: [:]][app] = handler }
            return handlers[place] == nil
        }
        guard isFirst else { return }
        router.on(RouterPath(path), method: method) { [self] request, context in
            try await respond(to: request, context, at: place)
        }
    }

    /// Sets the handler for pages that do not exist, for one app.
    func setUnknown(for app: AppID, _ handler: @escaping Handler) {
        handlers.withLock { $0[.unknown, default: [:]][app] = handler }
    }

    /// Answers a request for a page that does not exist.
    func respondUnknown(
        to request: Request, _ context: ServerContext
    ) async throws -> Response {
        try await respond(to: request, context, at: .unknown)
    }

    private func respond(
        to request: Request, _ context: ServerContext, at place: Place
    ) async throws -> Response {
        let asked = Self.app(in: request.uri.query, among: apps)
        guard let app = asked ?? chosenApp(request),
            let handler = handlers.withLock({ $0[place]?[app] })
        else { throw ProblemError(.routeUnknown) }
        var response = try await handler(request, context)
        if let asked, response.status == .ok { response.setApp(asked, seconds: Self.cookieSeconds) }
        return response
    }

    /// Redirects to the same page for another app, which is then the chosen app. If the request is
    /// a form, does not carry it out, and redirects to the overview.
    func redirect(_ request: Request, to app: AppID) -> Response {
        let path =
            request.method == .post
            ? DashboardPath.overview.text : DashboardRoutes.local(request.uri.path)
        var response = Response(status: .seeOther, headers: [.location: path])
        response.setApp(app, seconds: Self.cookieSeconds)
        return response
    }

    /// The app that the operator has chosen, otherwise the first app.
    private func chosenApp(_ request: Request) -> AppID? {
        let name = request.cookie(Self.name)
        return apps.first { $0.rawValue == name } ?? apps.first
    }

    private static func app(in query: String?, among apps: [AppID]) -> AppID? {
        guard let name = query.flatMap({ FormFields($0)[name] }) else { return nil }
        return apps.first { $0.rawValue == name }
    }
}

extension Response {
    /// Stores the app that an operator has chosen. The cookie is not secret and gives no
    /// permission.
    mutating func setApp(_ app: AppID, seconds: Int) {
        headers.append(
            HTTPField(
                name: .setCookie,
                value: "\(AppHandlers.name)=\(app); Path=/; Max-Age=\(seconds); HttpOnly; "
                    + "SameSite=Lax"))
    }
}
