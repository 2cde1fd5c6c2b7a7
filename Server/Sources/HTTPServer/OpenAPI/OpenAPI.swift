import PerennialContract

/// The OpenAPI description that `/openapi.json` serves. It is derived from the operations and from
/// the contract's types; a test compares it with the responses of the running server.
struct OpenAPI {
    private var components = Components()
    private var operations: [OpenAPIOperation]

    /// Throws ``ContractProbe/Failure`` if a contract type cannot be described.
    static func document(of operations: [OpenAPIOperation]) throws -> OpenAPIValue {
        var openAPI = OpenAPI(operations: operations)
        return try openAPI.document()
    }

    private init(operations: [OpenAPIOperation]) { self.operations = operations }

    private mutating func document() throws -> OpenAPIValue {
        // Clients may leave out optional members in what they send.
        for operation in operations {
            if let input = operation.input { try components.add(input, isSent: true) }
        }
        for operation in operations {
            switch operation.output {
            case .json(let output), .created(let output), .cacheable(let output),
                .events(let output):
                try components.add(output, isSent: false)
            case .status, .object, .cacheableObject, .receiptStatus, .text, .file: break
            }
        }
        // A problem omits nil members (RFC 9457); the objects in it do not.
        try components.add(Problem.self, isSent: true)
        return [
            "openapi": "3.1.0",
            "info": Self.info,
            "paths": paths,
            "components": [
                "securitySchemes": [
                    "key": [
                        "type": "http", "scheme": "bearer",
                        "description":
                            "An app key (pk_…) or a secret key (sk_…); each belongs to one app.",
                    ]
                ],
                "responses": ["problem": Self.problem],
                "schemas": .object(components.schemas),
            ],
        ]
    }

    private static let info: OpenAPIValue = [
        "title": "Perennial",
        "version": .text(PerennialServer.version),
        "summary": "What may this customer use right now, and why?",
        "description": """
        Times are RFC 3339 UTC with milliseconds; ids are strings. All errors are problems (RFC \
        9457) with a code that never changes its meaning. Members and words may be added: ignore \
        those you do not know. A request id may be sent as X-Request-Id (at most 64 of A-Z a-z 0-9 \
        - _ .); the response repeats it. With ?pretty every route indents its JSON.
        """,
        "license": ["name": "Apache-2.0", "identifier": "Apache-2.0"],
    ]

    private static let problem: OpenAPIValue = [
        "description": "Why the request failed, and what to do.",
        "content": [
            "application/problem+json": ["schema": ["$ref": "#/components/schemas/Problem"]]
        ],
    ]

    // MARK: - Operations

    private var paths: OpenAPIValue {
        var order: [String] = []
        var byPath: [String: [OpenAPIValue.Member]] = [:]
        for operation in operations {
            if byPath[operation.path] == nil { order.append(operation.path) }
            byPath[operation.path, default: []].append(
                .init(operation.method.rawValue.lowercased(), Self.description(of: operation)))
        }
        return .object(order.map { .init($0, .object(byPath[$0] ?? [])) })
    }

    private static func description(of operation: OpenAPIOperation) -> OpenAPIValue {
        var members: [OpenAPIValue.Member] = [
            .init("operationId", .text(operation.id)), .init("summary", .text(operation.summary)),
        ]
        let access = operation.scope.map { scope in
            operation.access == .secretKey
                ? "Only with a secret key of scope `\(scope.rawValue)`."
                : "A secret key needs the scope `\(scope.rawValue)`."
        }
        let description = [access, operation.description].compactMap(\.self)
        if !description.isEmpty {
            members.append(.init("description", .text(description.joined(separator: " "))))
        }
        if operation.access != .everyone {
            members.append(.init("security", [["key": []]]))
        }
        let parameters =
            operation.pathParameters.map(pathParameter) + operation.parameters.map(parameter)
        if !parameters.isEmpty { members.append(.init("parameters", .list(parameters))) }
        if let input = operation.input {
            members.append(
                .init(
                    "requestBody",
                    [
                        "required": true,
                        "content": ["application/json": ["schema": Components.reference(input)]],
                    ]))
        }
        members.append(.init("responses", responses(of: operation)))
        return .object(members)
    }

    private static func pathParameter(_ name: String) -> OpenAPIValue {
        let described: OpenAPIValue = ["name": .text(name), "in": "path", "required": true]
        return described.adding(pathNotes[name].map { ["description": .text($0)] })
            .adding(["schema": pathSchema(name)])
    }

    private static func parameter(_ parameter: OpenAPIParameter) -> OpenAPIValue {
        let described: OpenAPIValue = [
            "name": .text(parameter.name), "in": .text(parameter.place.rawValue),
        ]
        return described.adding(parameter.isRequired ? ["required": true] : nil)
            .adding(parameter.description.map { ["description": .text($0)] })
            .adding(["schema": parameter.schema])
    }

    /// The answer is the same whether the request created the object or it existed.
    private static func created(_ answer: OpenAPIValue) -> OpenAPIValue {
        .object([.init("201", answer), .init("200", answer)])
    }

    private static func responses(of operation: OpenAPIOperation) -> OpenAPIValue {
        func json(_ schema: OpenAPIValue, _ description: String = "Success.") -> OpenAPIValue {
            [
                "description": .text(description),
                "content": ["application/json": ["schema": schema]],
            ]
        }
        let problem: OpenAPIValue = ["default": ["$ref": "#/components/responses/problem"]]
        switch operation.output {
        case .json(let type):
            return OpenAPIValue.object([.init("200", json(Components.reference(type)))])
                .adding(problem)
        case .created(let type):
            return created(json(Components.reference(type))).adding(problem)
        case .cacheable(let type):
            return OpenAPIValue.object([
                .init("200", json(Components.reference(type))),
                .init("304", notModified),
            ]).adding(problem)
        case .status:
            let schema: OpenAPIValue = [
                "type": "object", "required": ["status"],
                "properties": ["status": ["type": "string"]],
            ]
            return OpenAPIValue.object([.init("200", json(schema))]).adding(problem)
        case .object(let description):
            return OpenAPIValue.object([.init("200", json(["type": "object"], description))])
                .adding(problem)
        case .cacheableObject(let description):
            return OpenAPIValue.object([
                .init("200", json(["type": "object"], description)),
                .init("304", notModified),
            ]).adding(problem)
        case .receiptStatus:
            let schema: OpenAPIValue = [
                "type": "object", "required": ["status"],
                "properties": ["status": ["type": "integer"]],
            ]
            return OpenAPIValue.object([.init("200", json(schema, "Apple's responseBody."))])
                .adding(problem)
        case .text(let description):
            return [
                "200": [
                    "description": .text(description),
                    "content": ["text/plain": ["schema": ["type": "string"]]],
                ]
            ]
        case .events(let type):
            return OpenAPIValue.object([.init("200", events(Components.reference(type)))])
                .adding(problem)
        case .file:
            return [
                "200": ["description": "The file."],
                "206": ["description": "A part of the file."],
                "302": ["description": "The file is at another address."],
                "304": ["description": "The file has not changed."],
                "default": ["$ref": "#/components/responses/problem"],
            ]
        }
    }

    private static let notModified: OpenAPIValue = [
        "description": "The answer is the one that the client has."
    ]

    private static func events(_ schema: OpenAPIValue) -> OpenAPIValue {
        [
            "description": """
            Server-sent events. The data of each is the JSON of the schema; its id is a cursor, \
            and its event is the type.
            """, "content": ["text/event-stream": ["schema": schema]],
        ]
    }
}
