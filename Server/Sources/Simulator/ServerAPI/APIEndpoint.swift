import AppStoreFormats
import HTTPTypes

/// One call of the App Store Server API: where it is, how often it may be called, and what answers.
struct APIEndpoint: Sendable {
    typealias Answering = @Sendable (isolated AppStoreSimulator, APICall) async throws -> APIAnswer

    /// Which of the two stores has it.
    enum Place: Hashable, Sendable {
        case both
        case productionOnly
        case sandboxOnly
    }

    /// Bytes of a body, unless an endpoint says otherwise.
    static let bodyBytesMax = 65_536

    static let inApps = "inApps"

    let method: HTTPRequest.Method
    /// The folder that the path is in.
    var root = Self.inApps
    /// Parameters in braces.
    let path: String
    private let words: [Word]
    /// Requests in one second, in production; nil is without a limit.
    var perSecond: Int?
    var place = Place.both
    var bodyBytesMax = Self.bodyBytesMax
    let answer: Answering

    init(
        _ method: HTTPRequest.Method, _ path: String, perSecond: Int?, place: Place = .both,
        bodyBytesMax: Int = bodyBytesMax, answer: @escaping Answering
    ) {
        self.method = method
        self.path = path
        words = path.split(separator: "/").map { Word($0) }
        self.perSecond = perSecond
        self.place = place
        self.bodyBytesMax = bodyBytesMax
        self.answer = answer
    }

    /// A name for limits, faults and the log: `GET v1/transactions/{id}`.
    var name: String { "\(method.rawValue) \(path)" }

    /// In the sandbox a tenth, but one at least.
    func perSecond(in environment: SimulatedEnvironment) -> Int? {
        switch environment {
        case .production: perSecond
        case .sandbox: perSecond.map { max(1, $0 / 10) }
        }
    }

    /// The calls of version 1.21, those of Retention Messaging 1.5, and of Advanced Commerce. Fixed
    /// words stand before
    /// parameters in the same place: the first that fits is taken.
    static let all =
        ExtensionEndpoints.all + TransactionEndpoints.all + HistoryEndpoints.all
        + ConsumptionEndpoints.all
        + NotificationEndpoints.all + MessagingEndpoints.all + AdvancedCommerceEndpoints.all

    /// The endpoint of a request with the parameters of its path; nil where there is none.
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

/// What stands between two slashes of an endpoint's path.
private enum Word: Sendable {
    case fixed(String)
    case parameter(String)

    init(_ text: Substring) {
        self =
            text.hasPrefix("{")
            ? .parameter(String(text.dropFirst().dropLast())) : .fixed(String(text))
    }
}
