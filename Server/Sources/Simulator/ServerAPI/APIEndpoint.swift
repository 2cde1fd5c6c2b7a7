import AppStoreFormats
import HTTPTypes

/// One call of the App Store Server API: its path, its rate limit and its handler.
struct APIEndpoint: Sendable {
    typealias Handler = @Sendable (isolated AppStoreSimulator, APICall) async throws -> APIResponse

    /// The environments in which the endpoint exists.
    enum Place: Hashable, Sendable {
        case both
        case productionOnly
        case sandboxOnly
    }

    /// Maximum number of bytes of a body, unless an endpoint sets its own limit.
    static let bodyBytesMax = 65_536

    static let inApps = "inApps"
    /// The root of calls about groups and seats.
    static let groups = "groups"

    let method: HTTPRequest.Method
    /// The first component of the endpoint's path.
    var root = Self.inApps
    /// The remaining path, with parameters in braces.
    let path: String
    private let words: [Word]
    /// Maximum number of requests per second in production. Nil means no limit.
    var perSecond: Int?
    var place = Place.both
    var bodyBytesMax = Self.bodyBytesMax
    let handler: Handler

    init(
        _ method: HTTPRequest.Method, _ path: String, perSecond: Int?, place: Place = .both,
        bodyBytesMax: Int = bodyBytesMax, answer: @escaping Handler
    ) {
        self.method = method
        self.path = path
        words = path.split(separator: "/").map { Word($0) }
        self.perSecond = perSecond
        self.place = place
        self.bodyBytesMax = bodyBytesMax
        self.handler = answer
    }

    /// A name for rate limits, faults and the log, such as `GET v1/transactions/{id}`.
    var name: String { "\(method.rawValue) \(path)" }

    /// Maximum number of requests per second. The sandbox has a tenth of the production limit, but
    /// at least one.
    func perSecond(in environment: SimulatedEnvironment) -> Int? {
        switch environment {
        case .production: perSecond
        case .sandbox: perSecond.map { max(1, $0 / 10) }
        }
    }

    /// The calls of version 1.21, of Retention Messaging 1.5, and of Advanced Commerce. Paths with
    /// fixed words come before paths with parameters in the same place, because the first match is
    /// used.
    static let all =
        ExtensionEndpoints.all + TransactionEndpoints.all + HistoryEndpoints.all
        + ConsumptionEndpoints.all
        + NotificationEndpoints.all + MessagingEndpoints.all + AdvancedCommerceEndpoints.all
        + SeatEndpoints.all

    /// The endpoint of a request, with its path parameters. Nil if no endpoint has this path.
    static func match(
        _ request: APIRequest
    ) -> (endpoint: APIEndpoint, parameters: [String: String])? {
        for endpoint in all where (endpoint.method, endpoint.root) == (request.method, request.root)
        {
            guard endpoint.isIn(request.environment) else { continue }
            if let parameters = endpoint.parameters(of: request.path) {
                return (endpoint, parameters)
            }
        }
        return nil
    }

    private func isIn(_ environment: SimulatedEnvironment) -> Bool {
        switch place {
        case .both: true
        case .productionOnly: environment == .production
        case .sandboxOnly: environment == .sandbox
        }
    }

    private func parameters(of path: [String]) -> [String: String]? {
        guard words.count == path.count else { return nil }
        var parameters: [String: String] = [:]
        for (word, part) in zip(words, path) {
            switch word {
            case .fixed(let word): guard word == part else { return nil }
            case .parameter(let name):
                guard !part.isEmpty else { return nil }
                parameters[name] = part
            }
        }
        return parameters
    }
}

/// One component of an endpoint's path.
private enum Word: Sendable {
    case fixed(String)
    case parameter(String)

    init(_ text: Substring) {
        self =
            text.hasPrefix("{")
            ? .parameter(String(text.dropFirst().dropLast())) : .fixed(String(text))
    }
}
