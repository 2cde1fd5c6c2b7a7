import AppStoreFormats

/// The OpenAPI 3.1 description of the control plane, made from the list of routes. Tests compare
/// the running simulator with it: each route exists, and responds as its schema says.
enum OpenAPI {
    static let document: JSON = [
        "openapi": "3.1.0",
        "info": ["title": "Perennial App Store simulator", "version": "1"],
        "paths": .object(paths),
        "components": ["schemas": .object(schemas)],
    ]

    private static var paths: [JSON.Member] {
        var order: [String] = []
        var operations: [String: [JSON.Member]] = [:]
        for route in SimulatorRoute.all {
            if operations[route.path] == nil { order.append(route.path) }
            operations[route.path, default: []].append(
                JSON.Member(route.method.rawValue.lowercased(), operation(route)))
        }
        return order.map { JSON.Member($0, .object(operations[$0] ?? [])) }
    }

    private static func operation(_ route: SimulatorRoute) -> JSON {
        var members: [JSON.Member] = [.init("summary", .string(route.summary))]
        let inPath = route.parameters.map { parameter($0, place: "path") }
        let inQuery = (route.query + forms(route)).map { parameter($0, place: "query") }
        let inHeader =
            route.shape == .events ? [parameter("Last-Event-ID", place: "header")] : []
        members.append(.init("parameters", .array(inPath + inQuery + inHeader)))
        if !route.fields.isEmpty {
            let schema: JSON = [
                "type": "object",
                "properties": .object(route.fields.map { .init($0.name, property($0)) }),
            ]
            let content: JSON = ["application/json": ["schema": schema]]
            members.append(.init("requestBody", ["content": content]))
        }
        if let mediaType = route.mediaType {
            let content = JSON.object([.init(mediaType, ["schema": ["type": "string"]])])
            members.append(.init("requestBody", ["content": content]))
        }
        members.append(
            .init("responses", ["200": success(route.shape), "default": failure]))
        return .object(members)
    }

    /// JSON responses support the query parameters `only`, which selects one member, and `pretty`,
    /// which indents.
    private static func forms(_ route: SimulatorRoute) -> [String] {
        if case .json = route.shape { ["only", "pretty"] } else { [] }
    }

    private static func success(_ shape: SimulatorRoute.Shape) -> JSON {
        switch shape {
        case .json(let name):
            let content: JSON = [
                "application/json": ["schema": reference(name)],
                "text/plain": ["schema": ["type": "string"]],
            ]
            return [
                "description": """
                Success. With `only`, that member alone, as plain text; with `pretty`, indented.
                """,
                "content": content,
            ]
        case .bytes(let type):
            return ["description": "The bytes.", "content": .object([.init(type, [:])])]
        case .events:
            return [
                "description": "Server-sent events, each with JSON as its data.",
                "content": ["text/event-stream": ["schema": ["type": "string"]]],
            ]
        }
    }

    private static func property(_ field: SimulatorRoute.Field) -> JSON {
        // Some fields also accept a name or null; their note says so.
        field.type == "object"
            ? ["type": ["object", "string"], "description": .string(field.description)]
            : ["type": [.string(field.type), "null"], "description": .string(field.description)]
    }

    private static func parameter(_ name: String, place: String) -> JSON {
        [
            "name": .string(name), "in": .string(place), "required": .bool(place == "path"),
            "schema": ["type": "string"],
        ]
    }

    private static let failure: JSON = [
        "description": "Refused: what happened, and what to do.",
        "content": [
            "application/problem+json": ["schema": reference("Problem")]
        ],
    ]
}
