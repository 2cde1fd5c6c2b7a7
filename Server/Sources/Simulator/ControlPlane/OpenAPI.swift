import AppStoreFormats
import HTTPBasics
import NIOCore

/// The OpenAPI 3.1 description of the control plane, made from the list of routes. Tests compare
/// the running simulator with it: each route exists, and responds as its schema says.
enum OpenAPI: OpenAPISchemas {
    static let document: JSON = .init(
        OpenAPIDocument(
            info: ["title": "Perennial App Store simulator", "version": "1"],
            operations: SimulatorRoute.all.map(operation),
            components: [.init("schemas", .object(schemas))]
        ).value)

    /// The document as the body of a response.
    static let body: ConstantBody = .init(
        ByteBuffer(bytes: document.bytes + [UInt8(ascii: "\n")]),
        mediaType: "application/json; charset=utf-8")

    private static func operation(_ route: SimulatorRoute) -> OpenAPIDocument.Operation {
        let inPath = route.parameters.map { parameter($0, .path) }
        let inQuery = (route.query + forms(route)).map { parameter($0, .query) }
        let inHeader = route.shape == .events ? [parameter("Last-Event-ID", .header)] : []
        return OpenAPIDocument.Operation(
            route.method.rawValue, route.path, summary: route.summary,
            parameters: inPath + inQuery + inHeader, body: body(of: route),
            responses: ["200": success(route.shape), "default": failure])
    }

    private static func body(of route: SimulatorRoute) -> OpenAPIContent? {
        if let mediaType = route.mediaType { return [mediaType: text] }
        guard !route.fields.isEmpty else { return nil }
        let properties = route.fields.map { OpenAPIValue.Member($0.name, property($0)) }
        return .json(["type": "object", "properties": .object(properties)])
    }

    /// JSON responses support the query parameters `only`, which selects one member, and `pretty`,
    /// which indents.
    private static func forms(_ route: SimulatorRoute) -> [String] {
        if case .json = route.shape { ["only", "pretty"] } else { [] }
    }

    private static func success(_ shape: SimulatorRoute.Shape) -> OpenAPIResponse {
        switch shape {
        case .json(let name):
            OpenAPIResponse(
                """
                Success. With `only`, that member alone, as plain text; with `pretty`, indented.
                """, ["application/json": reference(name), "text/plain": text])
        case .bytes(let type): OpenAPIResponse("The bytes.", [type: nil])
        case .events:
            OpenAPIResponse(
                "Server-sent events, each with JSON as its data.", ["text/event-stream": text])
        }
    }

    private static func property(_ field: SimulatorRoute.Field) -> OpenAPIValue {
        // Some fields also accept a name or null. The note of such a field says so.
        field.type == "object"
            ? ["type": ["object", "string"], "description": .text(field.description)]
            : ["type": [.text(field.type), "null"], "description": .text(field.description)]
    }

    private static func parameter(
        _ name: String, _ place: OpenAPIParameter.Place
    ) -> OpenAPIParameter {
        OpenAPIParameter(name: name, place: place, isRequired: place == .path)
    }

    private static let failure = OpenAPIResponse(
        "Refused: what happened, and what to do.",
        ["application/problem+json": reference("Problem")])
}

extension JSON {
    /// A value of the description as JSON.
    init(_ value: OpenAPIValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .integer(let number): self = .integer(Int64(number))
        case .text(let text): self = .string(text)
        case .list(let values): self = .array(values.map { JSON($0) })
        case .object(let members):
            self = .object(members.map { Member($0.name, JSON($0.value)) })
        }
    }
}
