import AppStoreFormats
import Foundation
import HTTPTypes

/// A request to the App Store Server API, as received over HTTP.
struct APIRequest: Sendable {
    let environment: SimulatedEnvironment
    let method: HTTPRequest.Method
    /// The first component of the path, normally `inApps`.
    var root = APIEndpoint.inApps
    /// The remaining components, decoded.
    let path: [String]
    /// The names and values of the query in order. A list is written as a repeated name.
    var query: [(name: String, value: String)] = []
    var authorization: String?
    var body: [UInt8] = []
    /// The time of arrival by the machine's clock. It is needed, because clients without a virtual
    /// clock date their tokens by the machine's clock.
    let arrived: AppStoreDate
}

/// A response of the API: a status, and JSON or nothing.
struct APIResponse: Hashable, Sendable {
    let status: Int
    var body: JSON?
    /// The time of the Retry-After header. Apple sends it in milliseconds since 1970, not in
    /// seconds from now.
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

/// An accepted request in the form that its endpoint reads.
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

    /// A date in the query. Returns nil if the query does not contain it.
    func date(_ name: String, else error: APIError) throws(APIError) -> AppStoreDate? {
        guard let text = value(name) else { return nil }
        guard let milliseconds = Int64(text), milliseconds >= 0 else { throw error }
        return AppStoreDate(milliseconds: milliseconds)
    }

    /// A boolean in the query. Accepts any case, because Apple's Python client writes `True` and
    /// `False`.
    func bool(_ name: String, else error: APIError) throws(APIError) -> Bool? {
        guard let text = value(name) else { return nil }
        switch text.lowercased() {
        case "true": return true
        case "false": return false
        default: throw error
        }
    }

    /// A UUID in the path. It is converted to lower case, because Swift's client writes upper case.
    func uuid(_ name: String, else error: APIError) throws(APIError) -> String {
        guard let uuid = UUID(uuidString: parameter(name)) else { throw error }
        return uuid.uuidString.lowercased()
    }
}
