import Hummingbird

/// Shows a page to a browser that requests an unknown path. Programs get the problem in JSON, and
/// so does every request for a path of the HTTP API.
struct UnknownPages: RouterMiddleware {
    private static let prefixes = ["/v1/", "/live", "/assets/", "/.well-known/"]

    let handlers: AppHandlers

    @concurrent func handle(
        _ request: Request, context: ServerContext,
        next: @concurrent (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        do { return try await next(request, context) } catch let error as HTTPError
            where error.status == .notFound && Self.isForPerson(request)
        {
            return try await handlers.respondUnknown(to: request, context)
        }
    }

    private static func isForPerson(_ request: Request) -> Bool {
        let path = request.uri.path
        return request.method == .get && request.headers[.accept]?.contains("text/html") == true
            && !prefixes.contains { path.hasPrefix($0) }
    }
}

extension DashboardRoutes {
    /// Adds the page that is shown for unknown paths.
    func addUnknown() {
        handlers.setUnknown(for: app) { request, context in
            try await guarded(request, context) { _ in throw ProblemError(.pageUnknown) }
        }
    }
}

extension ProblemCatalogue.Entry {
    fileprivate static let pageUnknown = of(.routeUnknown).variant(
        "There is no page at this address.", remedy: "Begin with the overview.")
}
