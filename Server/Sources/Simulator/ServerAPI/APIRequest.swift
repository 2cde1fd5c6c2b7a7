import AppStoreFormats
import Foundation
import HTTPTypes

/// A request to the App Store Server API, as it came over HTTP.
struct APIRequest: Sendable {
    let environment: SimulatedEnvironment
    let method: HTTPRequest.Method
    /// The folder of the API, `inApps` as a rule.
    var root = APIEndpoint.inApps
    /// What follows it, decoded.
    let path: [String]
    /// In the order of the request: lists come as repeated names.
    var query: [(name: String, value: String)] = []
    var authorization: String?
    var body: [UInt8] = []
    /// By the machine's clock: clients without a virtual one sign their tokens by that.
    let arrived: AppStoreDate
}

/// What the API answers: a status, and JSON or nothing.
struct APIAnswer: Hashable, Sendable {
    let status: Int
    var body: JSON?
    /// Apple sends it in milliseconds since 1970, not in seconds from now.
    var retryAfter: AppStoreDate?

    init(_ status: Int, _ body: JSON? = nil) {
        self.status = status
        self.body = body
    }

    static func ok(_ members: [JSON.Member]) -> Self { Self(200, .object(members)) }

    init(_ error: APIError) {
        status = error.status
        body = ["errorCode": .integer(error.code), "errorMessage": .string(error.message)]
    }
}

/// A request that was let in: what its endpoint reads.
struct APICall: Sendable {
    let environment: SimulatedEnvironment
    let parameters: [String: String]
    let query: [(name: String, value: String)]
    let bytes: [UInt8]

    func parameter(_ name: String) -> String { parameters[name] ?? "" }

    /// All values of a repeated name.
    func values(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }

    func value(_ name: String) -> String? { values(name).last }

    /// The body as a JSON object.
    func body() throws(APIError) -> JSON {
        guard let json = try? JSON(parsing: bytes), json.members != nil else {
            throw .badRequest
        }
        return json
    }

    /// A date in a query; nil where it is absent.
    func date(_ name: String, else error: APIError) throws(APIError) -> AppStoreDate? {
        guard let text = value(name) else { return nil }
        guard let milliseconds = Int64(text), milliseconds >= 0 else { throw error }
        return AppStoreDate(milliseconds: milliseconds)
    }

    /// A yes or no in a query. Apple's Python client writes `True` and `False`.
    func bool(_ name: String, else error: APIError) throws(APIError) -> Bool? {
        guard let text = value(name) else { return nil }
        switch text.lowercased() {
        case "true": return true
        case "false": return false
        default: throw error
        }
    }

    /// A UUID of the path, as Apple compares it: Swift's client writes capitals.
    func uuid(_ name: String, else error: APIError) throws(APIError) -> String {
        guard let uuid = UUID(uuidString: parameter(name)) else { throw error }
        return uuid.uuidString.lowercased()
    }
}
