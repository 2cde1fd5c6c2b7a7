import AsyncHTTPClient
import NIOCore

extension RevenueCatClient {
    /// Sends requests to RevenueCat over HTTP: the only function of this module that uses the
    /// network.
    ///
    /// - Parameters:
    ///   - client: the HTTP client, with the configuration `.revenueCat`. Its creator shuts it
    ///     down.
    ///   - base: scheme, host and port, such as ``address``.
    ///   - timeout: the time from connecting to the last byte.
    package static func sender(
        _ client: HTTPClient, base: String, timeout: Duration = .seconds(timeoutSeconds)
    ) -> @Sendable (RevenueCatRequest) async throws -> RevenueCatResponse {
        { request in
            try await withTimeout(timeout) {
                var sent = HTTPClientRequest(url: base + request.path)
                sent.headers.add(name: "authorization", value: request.authorization)
                sent.headers.add(name: "accept", value: "application/json")
                sent.headers.add(name: "user-agent", value: "Perennial")
                let answer = try await client.execute(sent, deadline: .distantFuture)
                return RevenueCatResponse(
                    status: Int(answer.status.code),
                    retryAfter: answer.headers.first(name: "retry-after"),
                    body: try await bytes(of: answer))
            }
        }
    }
}

extension HTTPClient.Configuration {
    /// The configuration for requests to RevenueCat. The client follows no redirects, because a
    /// redirect would forward the key.
    package static var revenueCat: Self {
        var configuration = Self(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(5)
        return configuration
    }
}

private func bytes(of answer: HTTPClientResponse) async throws -> [UInt8] {
    let most = RevenueCatResponse.bodyBytesMax
    do {
        return Array((try await answer.body.collect(upTo: most)).readableBytesView)
    } catch is NIOTooManyBytesError {
        throw RevenueCatClientFailure.unreadable("it has more than \(most) bytes")
    }
}

/// Applies the timeout to the whole response. The library's own deadline covers only the head.
private func withTimeout(
    _ timeout: Duration, _ body: @escaping @Sendable () async throws -> RevenueCatResponse
) async throws -> RevenueCatResponse {
    try await withThrowingTaskGroup(of: RevenueCatResponse.self) { tasks in
        tasks.addTask { try await body() }
        tasks.addTask {
            try await Task.sleep(for: timeout)
            throw RevenueCatClientFailure.unavailable("no complete response within \(timeout)")
        }
        defer { tasks.cancelAll() }
        guard let first = try await tasks.next() else { throw CancellationError() }
        return first
    }
}
