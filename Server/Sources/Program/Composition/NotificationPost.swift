import AsyncHTTPClient
import NIOCore
import Simulator

/// Posts the simulator's notifications to a server.
struct NotificationPost: Sendable {
    /// Until the answer.
    static let timeoutSeconds: Int64 = 30

    let client: HTTPClient

    @Sendable func post(_ url: String, _ body: [UInt8]) async -> PostAnswer {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(body)
        do {
            let answer = try await client.execute(
                request, timeout: .seconds(Self.timeoutSeconds))
            return PostAnswer(status: Int(answer.status.code))
        } catch {
            return PostAnswer(error: "\(error)")
        }
    }
}

extension HTTPClient.Configuration {
    /// For a server under test, and for what is sent on; never led elsewhere. Where nobody listens
    /// that is told at once, and not tried again until the time of a post is up: the schedules of
    /// attempts are the simulator's, and the queue's.
    static var notifications: Self {
        var configuration = Self(redirectConfiguration: .disallow)
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}
