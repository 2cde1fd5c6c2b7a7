import HTTPBasics
import PerennialContract

/// The OpenAPI description that `/openapi.json` serves. The description is derived from the
/// operations and from the contract's types; a test compares it with the responses of the running
/// server.
enum OpenAPI {
    /// Throws ``ContractProbe/Failure`` if a contract type cannot be described.
    static func document(of operations: [OpenAPIOperation]) throws -> OpenAPIValue {
        let components = try components(of: operations)
        let document = OpenAPIDocument(
            info: info, operations: operations.map { $0.described },
            components: [
                .init(
                    "securitySchemes",
                    [
                        "key": [
                            "type": "http", "scheme": "bearer",
                            "description": """
                            An app key (pk_…) or a secret key (sk_…); each belongs to one \
                            app.
                            """,
                        ]
                    ]),
                .init("responses", ["problem": problem.value, "limited": limited.value]),
                .init("schemas", .object(components.schemas)),
            ])
        return document.value
    }

    private static func components(of operations: [OpenAPIOperation]) throws -> Components {
        var components = Components()
        // Clients may leave out optional members of the objects that they send.
        for operation in operations {
            if let input = operation.input { try components.add(input, isSent: true) }
        }
        for operation in operations {
            switch operation.output {
            case .json(let output), .created(let output), .cacheable(let output),
                .events(let output):
                try components.add(output, isSent: false)
            case .status, .object, .cacheableObject, .receiptStatus, .text, .file, .archive: break
            }
        }
        // A problem omits nil members (RFC 9457); the objects in a problem do not.
        try components.add(Problem.self, isSent: true)
        return components
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

    private static let problem = OpenAPIResponse(
        "Why the request failed, and what to do.",
        ["application/problem+json": Components.reference("Problem")])

    private static let limited = OpenAPIResponse(
        """
        The key or the address of the request has reached a limit, which `limit` names. Send the \
        same request again after the number of seconds in Retry-After.
        """, ["application/problem+json": Components.reference("Problem")])
}

// MARK: - Operations

extension OpenAPIOperation {
    fileprivate var described: OpenAPIDocument.Operation {
        OpenAPIDocument.Operation(
            method.rawValue, path, id: id, summary: summary, description: note,
            security: access == .everyone ? nil : "key",
            parameters: pathParameters.map(Self.pathParameter) + parameters,
            body: input.map { .json(OpenAPI.Components.reference($0)) }, requiresBody: true,
            responses: output.responses, limited: isLimited ? .reference("limited") : nil)
    }

    /// Who may call the operation, and its description. Nil if there is nothing to say.
    private var note: String? {
        let scope = scope.map { scope in
            access == .secretKey
                ? "Only with a secret key of scope `\(scope.rawValue)`."
                : "A secret key needs the scope `\(scope.rawValue)`."
        }
        let notes = [scope, description].compactMap(\.self)
        return notes.isEmpty ? nil : notes.joined(separator: " ")
    }

    private static func pathParameter(_ name: String) -> OpenAPIParameter {
        OpenAPIParameter(
            name: name, place: .path, isRequired: true, description: OpenAPI.pathNotes[name],
            schema: OpenAPI.pathSchema(name))
    }
}

// MARK: - Responses

extension OpenAPIOperation.Output {
    fileprivate var responses: KeyValuePairs<String, OpenAPIResponse> {
        switch self {
        case .json(let type): ["200": Self.json(type), "default": Self.problem]
        case .created(let type):
            // The answer is the same whether the request created the object or the object already
            // existed.
            ["201": Self.json(type), "200": Self.json(type), "default": Self.problem]
        case .cacheable(let type):
            ["200": Self.json(type), "304": Self.notModified, "default": Self.problem]
        case .status:
            ["200": Self.json(Self.status(OpenAPI.Components.text)), "default": Self.problem]
        case .object(let description):
            ["200": Self.object(description), "default": Self.problem]
        case .cacheableObject(let description):
            [
                "200": Self.object(description), "304": Self.notModified,
                "default": Self.problem,
            ]
        case .receiptStatus:
            [
                "200": Self.json(
                    Self.status(OpenAPI.Components.whole), "Apple's responseBody."),
                "default": Self.problem,
            ]
        case .text(let description):
            ["200": OpenAPIResponse(description, ["text/plain": OpenAPI.Components.text])]
        case .events(let type): ["200": Self.events(type), "default": Self.problem]
        case .archive(let description):
            [
                "200": OpenAPIResponse(
                    description, ["application/zip": ["type": "string", "format": "binary"]]),
                "default": Self.problem,
            ]
        case .file:
            [
                "200": OpenAPIResponse("The file."),
                "206": OpenAPIResponse("A part of the file."),
                "302": OpenAPIResponse("The file is at another address."),
                "304": OpenAPIResponse("The file has not changed."), "default": Self.problem,
            ]
        }
    }

    private static let problem = OpenAPIResponse.reference("problem")
    private static let notModified = OpenAPIResponse(
        "The answer is the one that the client has.")

    private static func json(
        _ schema: OpenAPIValue, _ description: String = "Success."
    ) -> OpenAPIResponse {
        OpenAPIResponse(description, .json(schema))
    }

    private static func json(_ type: any Decodable.Type) -> OpenAPIResponse {
        json(OpenAPI.Components.reference(type))
    }

    private static func object(_ description: String) -> OpenAPIResponse {
        json(OpenAPI.Components.foreign, description)
    }

    private static func status(_ schema: OpenAPIValue) -> OpenAPIValue {
        OpenAPI.Components.object(["status": schema])
    }

    private static func events(_ type: any Decodable.Type) -> OpenAPIResponse {
        OpenAPIResponse(
            """
            Server-sent events. The data of each is the JSON of the schema; its id is a cursor, \
            and its event is the type.
            """, ["text/event-stream": OpenAPI.Components.reference(type)])
    }
}
