import AppStoreFormats
import HTTPTypes

/// A response of the App Store Server API, without HTTP.
package struct DirectAPIResponse: Hashable, Sendable {
    package var status: Int
    /// The Retry-After header, in milliseconds since 1970. Nil if the response has none.
    package var retryAfter: String?
    package var body: [UInt8]

    package init(status: Int, retryAfter: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }
}

extension AppStoreSimulator {
    /// The App Store Server API for callers in the same process. A call goes through the same
    /// checks as a request over HTTP: faults, token, rate limits. The token is checked against
    /// virtual time.
    ///
    /// - Parameter path: the path below the App Store's host, such as `/inApps/v1/…`, not
    ///   percent-encoded.
    package func callAPI(
        _ method: String, _ path: String, query: [(String, String)], authorization: String?,
        body: [UInt8], in environment: SimulatedEnvironment
    ) async -> DirectAPIResponse {
        var parts = path.split(separator: "/").map(String.init)
        guard let method = HTTPRequest.Method(method), !parts.isEmpty else {
            return DirectAPIResponse(status: 404)
        }
        let root = parts.removeFirst()
        let answer = await process(
            APIRequest(
                environment: environment, method: method, root: root, path: parts,
                query: query.map { (name: $0.0, value: $0.1) }, authorization: authorization,
                body: body, arrived: clock.now))
        return DirectAPIResponse(
            status: answer.status, retryAfter: answer.retryAfter.map { "\($0.milliseconds)" },
            body: answer.body?.bytes ?? [])
    }
}
