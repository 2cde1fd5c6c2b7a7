import AppStoreFormats
import Hummingbird

/// One route of the control plane: what it is called, what it takes, and what it is for. The router
/// and the OpenAPI description are both made from the same list.
struct SimulatorRoute: Sendable {
    /// What an answer is made of.
    enum Answer: Sendable {
        case json(JSON)
        case bytes([UInt8], type: String)
        /// Server-sent events, for as long as they come.
        case events(AsyncStream<ServerSentEvent>)
    }

    /// What the description says that an answer is made of.
    enum Shape: Hashable, Sendable {
        /// A JSON document; its schema, by name.
        case json(String)
        case bytes(type: String)
        case events
    }

    /// What a route is called with.
    struct Call: Sendable {
        let body: RequestBody
        /// The body as it came, where the route takes no JSON.
        var bytes: [UInt8] = []
        let parameters: [String: String]
        let query: [String: String]
    }

    /// Bytes of a body, unless a route says otherwise.
    static let bodyBytesMax = 65_536

    let method: HTTPRequest.Method
    /// With parameters in braces, as OpenAPI writes them.
    let path: String
    let summary: String
    let shape: Shape
    var fields: [Field] = []
    var query: [String] = []
    var bodyBytesMax = Self.bodyBytesMax
    /// Of a body that is no JSON.
    var mediaType: String?
    let answer: @Sendable (AppStoreSimulator, Call) async throws -> Answer

    /// A field of a body, and its type in JSON Schema.
    struct Field: Sendable {
        let name: String
        let type: String
        let note: String

        init(_ name: String, _ type: String = "string", _ note: String) {
            self.name = name
            self.type = type
            self.note = note
        }
    }

    static func get(
        _ path: String, _ summary: String, query: [String] = [], gives shape: Shape,
        answer: @escaping @Sendable (AppStoreSimulator, Call) async throws -> Answer
    ) -> Self {
        Self(
            method: .get, path: path, summary: summary, shape: shape, query: query,
            answer: answer)
    }

    static func post(
        _ path: String, _ summary: String, _ fields: [Field], bodyBytesMax: Int = bodyBytesMax,
        gives shape: Shape,
        answer: @escaping @Sendable (AppStoreSimulator, Call) async throws -> Answer
    ) -> Self {
        Self(
            method: .post, path: path, summary: summary, shape: shape, fields: fields,
            bodyBytesMax: bodyBytesMax, answer: answer)
    }

    /// The names of the parameters in the path.
    var parameters: [String] {
        path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
            String($0.dropFirst().dropLast())
        }
    }

    /// Everything the simulator answers.
    static let all =
        worldRoutes + faultRoutes + scenarioRoutes + productRoutes + deviceRoutes + purchaseRoutes
        + subscriptionRoutes + bookRoutes + announcementRoutes + serverAPIRoutes + ocspRoutes
        + receiptRoutes + verifyReceiptRoutes
}

extension SimulatorRoute.Call {
    /// A parameter of the path. The router sees to it that it is there.
    func parameter(_ name: String) throws(StoreProblem) -> String {
        guard let value = parameters[name], !value.isEmpty else {
            throw .badRequest("The path lacks its \(name).", remedy: "GET /_sim/openapi.json")
        }
        return value
    }
}
