import AsyncHTTPClient
import NIOCore
import Simulator

/// Posts the simulator's notifications to a server.
struct NotificationSender: Sendable {
    /// The time limit for the response, in seconds.
    static let timeoutSeconds: Int64 = 30

    let client: HTTPClient

    @Sendable func post(_ url: String, _ body: [UInt8]) async -> PostResult {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(body)
        do {
            let answer = try await client.execute(
                request, timeout: .seconds(Self.timeoutSeconds))
            return PostResult(status: Int(answer.status.code))
        } catch {
            return PostResult(error: "\(error)")
        }
    }
}

extension HTTPClient.Configuration {
    /// The configuration of the client that posts to a server under test, and of the client that
    /// forwards. Follows no redirects. A refused connection fails immediately instead of being
    /// retried until the timeout, because the simulator and the forwarding queue have their own
    /// schedules for retries.
    static var notifications: Self {
        var configuration = Self(redirectConfiguration: .disallow)
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}
