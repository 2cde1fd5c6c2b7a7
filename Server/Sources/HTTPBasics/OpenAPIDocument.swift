/// An OpenAPI 3.1 document. The server and the simulator list their operations and schemas; only
/// this type writes them.
package struct OpenAPIDocument: Sendable {
    package var info: OpenAPIValue
    /// Paths are written in the order of their first operation.
    package var operations: [Operation]
    /// The members of `components`: schemas, and everything else that operations refer to.
    package var components: [OpenAPIValue.Member]

    package init(
        info: OpenAPIValue, operations: [Operation], components: [OpenAPIValue.Member]
    ) {
        self.info = info
        self.operations = operations
        self.components = components
    }

    /// The document as JSON.
    package var value: OpenAPIValue {
        [
            "openapi": "3.1.0", "info": info, "paths": paths, "components": .object(components),
        ]
    }

    private var paths: OpenAPIValue {
        var order: [String] = []
        var byPath: [String: [OpenAPIValue.Member]] = [:]
        for operation in operations {
            if byPath[operation.path] == nil { order.append(operation.path) }
            byPath[operation.path, default: []].append(operation.member)
        }
        return .object(order.map { .init($0, .object(byPath[$0] ?? [])) })
    }
}

extension OpenAPIDocument {
    /// One method at one path.
    package struct Operation: Sendable {
        /// The method as HTTP writes it, such as `GET`.
        package var method: String
        /// The path, with parameters in braces.
        package var path: String
        /// The `operationId`.
        package var id: String?
        package var summary: String
        package var description: String?
        /// The name of the security scheme that the operation requires. Nil if anyone may call the
        /// operation.
        package var security: String?
        package var parameters: [OpenAPIParameter]
        /// The body that a client sends.
        package var body: OpenAPIContent?
        /// Whether a request without the body is refused.
        package var requiresBody: Bool
        /// The responses by status, or `default`.
        package var responses: KeyValuePairs<String, OpenAPIResponse>
        /// The response to a client that sends too many requests (429). Nil if the operation has
        /// no such limit.
        package var limited: OpenAPIResponse?

        package init(
            _ method: String, _ path: String, id: String? = nil, summary: String,
            description: String? = nil, security: String? = nil,
            parameters: [OpenAPIParameter] = [], body: OpenAPIContent? = nil,
            requiresBody: Bool = false, responses: KeyValuePairs<String, OpenAPIResponse>,
            limited: OpenAPIResponse? = nil
        ) {
            self.method = method
            self.path = path
            self.id = id
            self.summary = summary
            self.description = description
            self.security = security
            self.parameters = parameters
            self.body = body
            self.requiresBody = requiresBody
            self.responses = responses
            self.limited = limited
        }

        fileprivate var member: OpenAPIValue.Member {
            var members = OpenAPIValue.Members()
            members.add("operationId", id.map { .text($0) })
            members.add("summary", .text(summary))
            members.add("description", description.map { .text($0) })
            members.add("security", security.map { [.object([.init($0, [])])] })
            if !parameters.isEmpty { members.add("parameters", .list(parameters.map(\.value))) }
            if let body {
                let required: OpenAPIValue = requiresBody ? ["required": true] : .object([])
                members.add("requestBody", required.adding(["content": body.value]))
            }
            let limited = limited.map { OpenAPIValue.Member("429", $0.value) }
            let responses = responses.map { OpenAPIValue.Member($0.key, $0.value.value) }
            members.add("responses", .object([limited].compactMap(\.self) + responses))
            return .init(method.lowercased(), members.value)
        }
    }
}

/// A parameter of an operation.
package struct OpenAPIParameter: Sendable {
    package enum Place: String, Sendable {
        case path, query, header
    }

    package var name: String
    package var place: Place
    package var isRequired: Bool
    package var description: String?
    package var schema: OpenAPIValue

    package init(
        name: String, place: Place = .query, isRequired: Bool = false, description: String? = nil,
        schema: OpenAPIValue = ["type": "string"]
    ) {
        self.name = name
        self.place = place
        self.isRequired = isRequired
        self.description = description
        self.schema = schema
    }

    fileprivate var value: OpenAPIValue {
        var members = OpenAPIValue.Members()
        members.add("name", .text(name))
        members.add("in", .text(place.rawValue))
        // A missing member means false.
        members.add("required", isRequired ? true : nil)
        members.add("description", description.map { .text($0) })
        members.add("schema", schema)
        return members.value
    }
}

/// A body, by media type. A type without a schema may have any bytes.
package struct OpenAPIContent: Sendable, ExpressibleByDictionaryLiteral {
    private let schemas: [(type: String, schema: OpenAPIValue?)]

    package init(dictionaryLiteral elements: (String, OpenAPIValue?)...) {
        schemas = elements.map { ($0.0, $0.1) }
    }

    package static func json(_ schema: OpenAPIValue) -> Self { ["application/json": schema] }

    fileprivate var value: OpenAPIValue {
        .object(
            schemas.map { type, schema in
                .init(type, .object(schema.map { [.init("schema", $0)] } ?? []))
            })
    }
}

/// A response of an operation, or one of the document's components.
package struct OpenAPIResponse: Sendable {
    package let value: OpenAPIValue

    /// - Parameter content: the body. Nil if the description says enough about it.
    package init(_ description: String, _ content: OpenAPIContent? = nil) {
        let described: OpenAPIValue = ["description": .text(description)]
        value = described.adding(content.map { ["content": $0.value] })
    }

    /// A response of the document's components.
    package static func reference(_ name: String) -> Self {
        Self(value: ["$ref": .text("#/components/responses/\(name)")])
    }

    private init(value: OpenAPIValue) { self.value = value }
}

extension OpenAPIValue {
    /// Builds the members of an object. Members without a value are left out.
    fileprivate struct Members {
        private var members: [Member] = []

        mutating func add(_ name: String, _ value: OpenAPIValue?) {
            if let value { members.append(Member(name, value)) }
        }

        var value: OpenAPIValue { .object(members) }
    }
}
