import Engine
import HTTPBasics
import HTTPTypes
import PerennialContract
import Storage

/// The input and output of one method at one path. The router, the checks of keys and of the query,
/// and the OpenAPI description are all derived from it. Each operation is written beside its
/// handler, in the topic's `…Routes.swift`.
struct OpenAPIOperation: Sendable {
    var method: HTTPRequest.Method
    /// The path, with parameters in braces as in OpenAPI.
    var path: String
    /// The OpenAPI `operationId`.
    var id: String
    var summary: String
    var description: String?
    /// Parameters in the query and in header fields. The parameters in the path are derived from
    /// the path.
    var parameters: [OpenAPIParameter]
    /// The contract type of the body.
    var input: (any (Decodable & Sendable).Type)?
    var output: Output
    /// Who may call the operation.
    var access = Access.everyone
    /// The scope that a secret key needs. Nil if no key is needed.
    var scope: KeyScope?
    /// Whether `?pretty` indents a JSON answer. False for answers in Apple's format, and for files.
    var isIndentable = true
    /// Whether the server counts a request against the limit of its address before it calls the
    /// route. False for routes that must always answer. Also false for routes that count requests
    /// themselves, because their responses have a special form.
    var isLimited = true

    enum Access: Sendable {
        case everyone
        /// Apps and servers, with a key.
        case key
        /// Servers, with a secret key.
        case secretKey
        /// Callers with a key, or with a signed link.
        case keyOrLink
    }

    enum Output: Sendable {
        case json(any (Decodable & Sendable).Type)
        /// JSON, with the status 201 if the request has created the object.
        case created(any (Decodable & Sendable).Type)
        /// A JSON object with an ETag, or 304.
        case cacheable(any (Decodable & Sendable).Type)
        /// `{"status": "…"}`
        case status
        /// A JSON object without a contract type.
        case object(String)
        /// A JSON object without a contract type, with an ETag; or 304.
        case cacheableObject(String)
        /// Apple's responseBody.
        case receiptStatus
        case text(String)
        /// Server-sent events, each with JSON of a contract type as its data.
        case events(any (Decodable & Sendable).Type)
        case file
        /// A ZIP archive.
        case archive(String)
    }

    init(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String,
        description: String? = nil, parameters: [OpenAPIParameter] = [],
        input: (any (Decodable & Sendable).Type)? = nil, output: Output
    ) {
        self.method = method
        self.path = path
        self.id = id
        self.summary = summary
        self.description = description
        self.parameters = parameters
        self.input = input
        self.output = output
    }

    /// The names of the parameters in the path.
    var pathParameters: [String] { path.matches(of: /\{(\w+)\}/).map { String($0.1) } }

    /// The names of the parameters in the query.
    var queryParameters: [String] { parameters.filter { $0.place == .query }.map(\.name) }
}

extension OpenAPIParameter {
    static let environment = OpenAPIParameter(
        name: "environment",
        description: "Which purchases count: real ones, or those of the sandbox.",
        schema: ["enum": ["production", "sandbox"], "default": "production"])

    static let after = OpenAPIParameter(
        name: "after", description: "next_cursor of an earlier response.")

    /// The parameter for the size of a page.
    static func limit(usual: Int, most: Int) -> OpenAPIParameter {
        OpenAPIParameter(
            name: "limit", description: "The maximum number of items.",
            schema: [
                "type": "integer", "minimum": 1, "maximum": .integer(most),
                "default": .integer(usual),
            ])
    }

    static let proof = OpenAPIParameter(
        name: "Perennial-Customer-Proof", place: .header,
        description: "If the app's configuration requires it. Separate two with a comma.")

    static let storefront = OpenAPIParameter(
        name: "storefront",
        description: "The storefront of the device, as StoreKit names it, such as USA.",
        schema: ["type": "string", "pattern": "^[A-Z]{3}$"])

    static let ifNoneMatch = OpenAPIParameter(
        name: "If-None-Match", place: .header,
        description: "The ETag of an earlier response. If nothing changed, the response is 304.")

    static let wait = OpenAPIParameter(
        name: "wait",
        description: "With If-None-Match: the seconds to wait for another answer, before 304.",
        schema: [
            "type": "integer", "minimum": .integer(CustomerWait.secondsRange.lowerBound),
            "maximum": .integer(CustomerWait.secondsRange.upperBound),
        ])

    static let idempotencyKey = OpenAPIParameter(
        name: "Idempotency-Key", place: .header,
        description: "A key you choose for this request.",
        schema: ["type": "string", "minLength": 1, "maxLength": 255])

    static let requiredIdempotencyKey: OpenAPIParameter = {
        var parameter = idempotencyKey
        parameter.isRequired = true
        return parameter
    }()
}
