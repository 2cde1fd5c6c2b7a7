import AppStoreFormats
import AsyncHTTPClient
import NIOCore
import OutgoingHTTP

/// The time from connecting to the last byte of a response. Apple usually responds within a tenth
/// of a second, and rarely after four seconds.
package let appStoreTimeoutSeconds: Int64 = 20

/// Sends requests to the App Store over HTTP.
///
/// - Parameters:
///   - client: the HTTP client, with the configuration `.withoutRedirects`. Its creator shuts it
///     down.
///   - timeout: the time from connecting to the last byte.
package func httpSender(
    _ client: HTTPClient, hosts: AppStoreHosts,
    timeout: Duration = .seconds(appStoreTimeoutSeconds)
) -> @Sendable (AppStoreRequest) async throws -> AppStoreResponse {
    { request in
        do {
            let answer = try await HTTPClientRequest(request, hosts).wholeResponse(
                by: client, within: timeout, bodyBytesMax: AppStoreResponse.bodyBytesMax)
            return AppStoreResponse(
                status: answer.status, retryAfter: answer.headers.first(name: "retry-after"),
                date: answer.headers.first(name: "date").flatMap { HTTPDate.moment($0) },
                body: answer.body)
        } catch let failure as ResponseFailure {
            switch failure {
            case .late: throw AppStoreFailure.unavailable("\(failure)")
            case .tooLarge(let most):
                throw AppStoreFailure.unreadable("a response of more than \(most) bytes")
            }
        }
    }
}

extension HTTPClientRequest {
    fileprivate init(_ request: AppStoreRequest, _ hosts: AppStoreHosts) {
        self.init(url: hosts.url(of: request.environment) + request.path + Self.text(request.query))
        method = .init(rawValue: request.method)
        if let authorization = request.authorization {
            headers.add(name: "authorization", value: authorization)
        }
        headers.add(name: "accept", value: request.accept)
        if let body = request.body {
            headers.add(name: "content-type", value: "application/json")
            self.body = .bytes(ByteBuffer(bytes: body))
        }
    }

    private static func text(_ query: [(String, String)]) -> String {
        query.isEmpty ? "" : "?" + PercentEncoder.query(query)
    }
}
