import AsyncHTTPClient
import OutgoingHTTP

extension RevenueCatClient {
    /// Sends requests to RevenueCat over HTTP: the only function of this module that uses the
    /// network.
    ///
    /// - Parameters:
    ///   - client: the HTTP client, with the configuration `.withoutRedirects`. Its creator
    ///     shuts it down.
    ///   - base: scheme, host and port, such as ``address``.
    ///   - timeout: the time from connecting to the last byte.
    package static func sender(
        _ client: HTTPClient, base: String, timeout: Duration = .seconds(timeoutSeconds)
    ) -> @Sendable (RevenueCatRequest) async throws -> RevenueCatResponse {
        { request in
            var sent = HTTPClientRequest(url: base + request.path)
            sent.headers.add(name: "authorization", value: request.authorization)
            sent.headers.add(name: "accept", value: "application/json")
            sent.headers.add(name: "user-agent", value: "Perennial")
            do {
                let answer = try await sent.wholeResponse(
                    by: client, within: timeout, bodyBytesMax: RevenueCatResponse.bodyBytesMax)
                return RevenueCatResponse(
                    status: answer.status, retryAfter: answer.headers.first(name: "retry-after"),
                    body: answer.body)
            } catch let failure as ResponseFailure {
                switch failure {
                case .late: throw RevenueCatClientFailure.unavailable("\(failure)")
                case .tooLarge: throw RevenueCatClientFailure.unreadable("\(failure)")
                }
            }
        }
    }
}
