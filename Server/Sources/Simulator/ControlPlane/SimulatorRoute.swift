import AppStoreFormats
import HTTPBasics
import Hummingbird

/// One route of the control plane: its path, its input and its purpose. The router and the OpenAPI
/// description are both made from the same list.
struct SimulatorRoute: Sendable {
    /// The content of a response.
    enum Content: Sendable {
        case json(JSON)
        /// JSON that never changes, and its encoded form.
        case constant(JSON, ConstantBody)
        case bytes([UInt8], type: String)
        /// Server-sent events, until the stream ends.
        case events(UpdateStream)
    }

    /// The content of a response, as stated in the OpenAPI description.
    enum Shape: Hashable, Sendable {
        /// A JSON document, with the name of its schema.
        case json(String)
        case bytes(type: String)
        case events
    }

    /// The input of a route.
    struct Call: Sendable {
        let body: RequestBody
        /// The raw body, if the route does not take JSON.
        var bytes: [UInt8] = []
        let parameters: [String: String]
        let query: [String: String]
        /// The header `Last-Event-ID`, if the client continues a stream of events.
        var lastEventID: String?
    }

    /// Maximum number of bytes of a body, unless a route sets its own limit.
    static let bodyBytesMax = 65_536

    let method: HTTPRequest.Method
    /// The path, with parameters in braces, as OpenAPI writes them.
    let path: String
    let summary: String
    let shape: Shape
    var fields: [Field] = []
    var query: [String] = []
    var bodyBytesMax = Self.bodyBytesMax
    /// The media type of a body that is not JSON.
    var mediaType: String?
    let handler: @Sendable (AppStoreSimulator, Call) async throws -> Content

    /// A field of a body, with its JSON Schema type.
    struct Field: Sendable {
        let name: String
        let type: String
        let description: String

        init(_ name: String, _ type: String = "string", _ note: String) {
            self.name = name
            self.type = type
            self.description = note
        }
    }

    static func get(
        _ path: String, _ summary: String, query: [String] = [], gives shape: Shape,
        answer: @escaping @Sendable (AppStoreSimulator, Call) async throws -> Content
    ) -> Self {
        Self(
            method: .get, path: path, summary: summary, shape: shape, query: query,
            handler: answer)
    }

    static func post(
        _ path: String, _ summary: String, _ fields: [Field], bodyBytesMax: Int = bodyBytesMax,
        gives shape: Shape,
        answer: @escaping @Sendable (AppStoreSimulator, Call) async throws -> Content
    ) -> Self {
        Self(
            method: .post, path: path, summary: summary, shape: shape, fields: fields,
            bodyBytesMax: bodyBytesMax, handler: answer)
    }

    /// The names of the parameters in the path.
    var parameters: [String] {
        path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
            String($0.dropFirst().dropLast())
        }
    }

    /// All routes of the control plane.
    static let all =
        worldRoutes + faultRoutes + scenarioRoutes + productRoutes + deviceRoutes + phoneRoutes
        + deviceLifeRoutes + deviceSheetRoutes
        + verbRoutes + groundTruthRoutes + announcementRoutes + serverAPIRoutes + ocspRoutes
        + seatRoutes + receiptRoutes + verifyReceiptRoutes + dailyBooksRoutes + salesReportRoutes
}

extension SimulatorRoute.Call {
    /// A parameter of the path. The router guarantees that it exists.
    func parameter(_ name: String) throws(SimulatorProblem) -> String {
        guard let value = parameters[name], !value.isEmpty else {
            throw .badRequest(
                "The path lacks the parameter \(name).", remedy: "GET /_sim/openapi.json")
        }
        return value
    }
}
