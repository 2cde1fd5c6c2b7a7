import Engine
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract
import RevenueCatWebhooks
import RevenueCatWire
import Storage

/// The common parts of all routes of version 2 of RevenueCat's REST API: our secret key, the
/// project, the pages of lists, and the form of errors.
struct RevenueCatProjectGate: RouteGroup {
    /// The number of objects on a page, unless the request says otherwise.
    static let pageUsual = 20
    static let pageMost = 100
    static let root = "/v2/projects"
    static let project = "/v2/projects/{project}"

    let server: PerennialServer

    typealias Handler =
        @Sendable (Request, ServerContext, StoredKey, RevenueCatProject) async throws -> Response

    /// A route that requires a secret key with a scope. The project in the path must be that of the
    /// key's app.
    func keyed(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, for scope: KeyScope,
        _ answer: @escaping Handler
    ) -> Route {
        var operation = OpenAPIOperation(
            method, path, id, "RevenueCat's REST API", output: .object("RevenueCat's."))
        operation.isIndentable = false
        operation.isLimited = false
        return Route(operation: operation) { request, context in
            do {
                try server.authorization.countAddress(of: request, context)
                let holder = try await server.authorization.caller(of: request, for: scope)
                guard holder.kind == .secret else { throw ProblemError(.keyNotSecret) }
                let author = context.author.record(holder, actor: try request.actor())
                context.bodyShare?.use(.withKey)
                let project = try project(of: holder.app, context)
                return try await EventAuthor.$current.withValue(author) {
                    try await answer(request, context, holder, project)
                }
            } catch {
                return try Self.response(to: error, context)
            }
        }
    }

    private func project(of app: AppID, _ context: ServerContext) throws -> RevenueCatProject {
        let project = RevenueCatProject(try engine.context.settings(of: app))
        if let named = context.parameters.get("project"), named != project.id {
            throw RevenueCatMissing(what: "project", remedy: "The key is for \(project.id).")
        }
        return project
    }

    // MARK: - Requests

    /// The id of an object in the path, such as a product.
    static func name(_ parameter: String, in context: ServerContext) throws -> String {
        try RequestReader.parameter(parameter, called: parameter, in: context)
    }

    /// The environment in the query. By default, RevenueCat's responses contain both environments.
    /// Ours contain production only, so that unpaid purchases never look like paid ones.
    static func environment(of request: Request) throws -> Ledger.Environment {
        try RequestReader.environment(in: request)
    }

    /// The part of a list's query that the request for its next page must repeat.
    static func query(of request: Request) throws -> String? {
        try environment(of: request) == .sandbox ? "environment=sandbox" : nil
    }

    static func limit(of request: Request) throws -> Int {
        try RequestReader.limit(in: request, usual: pageUsual, most: pageMost)
    }

    static func startingAfter(_ request: Request) -> String? {
        request.uri.queryParameters["starting_after"].map(String.init)
    }

    /// Whether the request asks for details in place, such as `expand=attributes`.
    static func expands(_ name: String, _ request: Request) -> Bool {
        request.uri.queryParameters.contains { key, value in
            (key == "expand" || key == "expand[]")
                && value.split(separator: ",").contains { $0 == name }
        }
    }

    // MARK: - Responses

    /// Responds with one page of a list, given all objects of the list.
    func respond(
        _ objects: [RevenueCatObject], at path: String, to request: Request
    ) throws -> Response {
        let page = RevenueCatList.page(
            of: objects, path: path, after: Self.startingAfter(request),
            limit: try Self.limit(of: request))
        guard var page else { throw ProblemError(.cursorUnknown) }
        page.query = try Self.query(of: request)
        return try JSONResponse.ok(page.value)
    }

    private static func response(
        to error: any Error, _ context: ServerContext
    ) throws -> Response {
        if let missing = error as? RevenueCatMissing {
            return try response(
                .notFound, .missing, missing.message, name: "resource_unknown", parameter: nil)
        }
        let problem =
            (error as? EngineFailure).map { ProblemError($0, subject: .customer) }
            ?? ProblemError(anything: error)
        problem.log(requestID: context.requestID, to: context.logger)
        let found = problem.problem
        // These routes are not in /openapi.json.
        let remedy = found.code == .bodyNotUnderstood ? nil : found.remedy
        let status = HTTPResponse.Status(code: found.status)
        var response = try response(
            status, RevenueCatFailure(status),
            [found.title, found.detail, remedy]
                .compactMap(\.self).joined(separator: " "),
            name: found.code.rawValue, parameter: nil)
        response.headers[.retryAfter] = problem.headers[.retryAfter]
        return response
    }

    private static func response(
        _ status: HTTPResponse.Status, _ failure: RevenueCatFailure, _ message: String,
        name: String, parameter: String?
    ) throws -> Response {
        var response = try JSONResponse.ok(
            failure.value(message, name: name, parameter: parameter))
        response.status = status
        return response
    }
}

/// The object in the path of a request does not exist.
struct RevenueCatMissing: Error {
    var what: String
    var remedy = ""

    var message: String {
        "There is no such \(what)." + (remedy.isEmpty ? "" : " \(remedy)")
    }
}

extension RevenueCatFailure {
    /// The word for a status.
    fileprivate init(_ status: HTTPResponse.Status) {
        switch status.code {
        case 401: self = .authentication
        case 403: self = .authorization
        case 404: self = .missing
        case 409, 422: self = .unprocessable
        case 429: self = .rateLimit
        case 500...: self = .server
        default: self = .parameter
        }
    }
}

extension RevenueCatProject {
    init(_ app: AppSettings) {
        var kinds: [ProductID: ProductKind] = [:]
        for product in app.wallets.credits.keys { kinds[product] = .consumable }
        for product in app.terms.products.keys { kinds[product] = .nonRenewing }
        for product in app.offers.products.keys { kinds[product] = .autoRenewable }
        self.init(
            id: app.revenueCat.project ?? app.id.rawValue, bundleID: app.bundleID,
            entitlements: app.entitlements, placements: app.offerings.placements,
            packages: app.revenueCat.packages, kinds: kinds)
    }
}
