import AppStoreFormats
import HTTPBasics
import HTTPTypes
import Hummingbird

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// HTTP: decodes requests, calls routes, encodes responses. Everything particular to a route is in
// its entry in the list.

extension AppStoreSimulator {
    /// A router for the control plane (`/_sim/…`), verifyReceipt, the App Store Server API and
    /// Apple's reports. Each call makes a new router.
    package nonisolated func router() -> Router<SimulatorContext> {
        let router = Router(context: SimulatorContext.self)
        router.add(middleware: ProblemMiddleware(simulator: self))
        for route in SimulatorRoute.all {
            let path = route.path.replacing("{", with: ":").replacing("}", with: "")
            router.on(RouterPath(path), method: route.method) { request, context in
                try await self.response(to: request, context, route)
            }
        }
        addVerifyReceipt(to: router)
        addServerAPI(to: router)
        addSalesReports(to: router)
        return router
    }

    private nonisolated func response(
        to request: Request, _ context: SimulatorContext, _ route: SimulatorRoute
    ) async throws -> Response {
        let known = route.fields.map(\.name)
        let bytes = try await Self.bytes(of: request, atMost: route.bodyBytesMax)
        var parameters: [String: String] = [:]
        for name in route.parameters {
            parameters[name] = try context.parameters.get(name).map(Self.decoded)
        }
        var query: [String: String] = [:]
        for (name, value) in request.uri.queryParameters { query[String(name)] = String(value) }
        let isJSON = route.mediaType == nil
        let call = SimulatorRoute.Call(
            body: try RequestBody(isJSON ? bytes : [], known: known),
            bytes: isJSON ? [] : bytes, parameters: parameters, query: query,
            lastEventID: HTTPField.Name.lastEventID.flatMap { request.headers[$0] })
        switch try await route.handler(self, call) {
        case .bytes(let bytes, let type): return Response(.ok, bytes, type: type)
        case .events(let stream):
            return LiveStream(
                UpdateSource(), stream.limits, tick: .tick, to: context.liveConnection
            ) { (stream.events, stream.sink) }.response
        case .json(let json): return try Response(json, only: query["only"], to: request)
        case .constant(let json, let body):
            guard query["only"] == nil, !request.asksForIndentation else {
                return try Response(json, only: query["only"], to: request)
            }
            return body.response(to: request)
        }
    }

    /// A part of the path as it was before a client has percent-encoded it (RFC 3986).
    private static func decoded(_ part: String) throws(SimulatorProblem) -> String {
        guard let text = part.removingPercentEncoding else {
            throw .badRequest(
                "\(part) in the path cannot be decoded.",
                remedy: "Percent-encode it as UTF-8 (RFC 3986).")
        }
        return text
    }

    static func bytes(of request: Request, atMost limit: Int) async throws -> [UInt8] {
        do {
            let buffer = try await request.body.collect(upTo: limit)
            return [UInt8](buffer.readableBytesView)
        } catch {
            throw SimulatorProblem(
                "body_too_large", status: 413, "The body could not be read, or is too large.",
                remedy: "Send at most \(limit) bytes.")
        }
    }
}

/// Logs each request, and turns every failure into a problem response (RFC 9457).
private struct ProblemMiddleware: RouterMiddleware {
    let simulator: AppStoreSimulator

    @concurrent func handle(
        _ request: Request, context: SimulatorContext,
        next: @concurrent (Request, SimulatorContext) async throws -> Response
    ) async throws -> Response {
        let response: Response
        do { response = try await next(request, context) } catch {
            response = Response(
                problem(for: error, request), isIndented: request.asksForIndentation)
        }
        await simulator.appendToLog(
            .request,
            [
                ("method", .string(request.method.rawValue)), ("path", .string(request.uri.path)),
                ("status", .integer(Int64(response.status.code))),
            ])
        return response
    }

    private func problem(for error: any Error, _ request: Request) -> SimulatorProblem {
        if let problem = error as? SimulatorProblem { return problem }
        if let failure = error as? any HTTPResponseError, failure.status.code < 500 {
            return SimulatorProblem(
                "unknown_route", status: failure.status.code,
                "There is no route \(request.method.rawValue) \(request.uri.path).",
                remedy: "GET /_sim/openapi.json lists the routes.")
        }
        return SimulatorProblem(
            "simulator_failed", status: 500, "The simulator failed: \(error)",
            remedy: "Report it together with the earlier requests: GET /_sim/log.")
    }
}

extension Request {
    /// `?pretty`, with any value but `false` and `0`.
    fileprivate var asksForIndentation: Bool {
        guard let value = uri.queryParameters["pretty"] else { return false }
        return value != "false" && value != "0"
    }
}

extension Response {
    fileprivate init(_ status: HTTPResponse.Status, _ bytes: [UInt8], type: String) {
        var headers = HTTPFields()
        headers[.contentType] = type
        headers[.contentLength] = String(bytes.count)
        self.init(
            status: status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// JSON, or one of its fields as plain text, so that a shell needs no JSON tool: `curl …
    /// ?only=signed_transaction`.
    fileprivate init(
        _ json: JSON, only field: String?, to request: Request
    ) throws(SimulatorProblem) {
        guard let field else {
            // Adds a newline at the end, so that responses end with a line break in a terminal.
            let line = json.bytes(isIndented: request.asksForIndentation) + [UInt8(ascii: "\n")]
            self.init(.ok, line, type: "application/json; charset=utf-8")
            return
        }
        guard let value = json[field] else {
            let fields = (json.members ?? []).map(\.key).joined(separator: ", ")
            throw .badRequest(
                "The response has no field \(field). The request itself has been carried out.",
                remedy: "Available fields: \(fields).")
        }
        let text = value.string ?? value.text
        self.init(.ok, Array(text.utf8), type: "text/plain; charset=utf-8")
    }

    fileprivate init(_ problem: SimulatorProblem, isIndented: Bool) {
        var members: [JSON.Member] = [
            .init("type", "about:blank"), .init("title", .string(problem.message)),
            .init("status", .integer(Int64(problem.status))),
            .init("detail", .string(problem.message)), .init("code", .string(problem.code)),
            .init("remedy", .string(problem.remedy)),
        ]
        if let failure = problem.storeKit {
            members.append(.init("error", .string(failure.rawValue)))
        }
        if let code = problem.urlError { members.append(.init("url_error", .integer(code))) }
        let json = JSON.object(members)
        self.init(
            HTTPResponse.Status(code: problem.status),
            json.bytes(isIndented: isIndented) + [UInt8(ascii: "\n")],
            type: "application/problem+json")
    }
}

extension HTTPField.Name {
    /// The last event that a client has, which it sends when it reconnects (WHATWG HTML,
    /// "Server-sent events").
    fileprivate static let lastEventID = Self("Last-Event-ID")
}
