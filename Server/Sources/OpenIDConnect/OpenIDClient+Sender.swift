import AsyncHTTPClient
import NIOCore

extension OpenIDClient {
    /// The time for one request, from connecting to the last byte.
    package static let timeoutSeconds = 10

    /// Sends requests to a provider over HTTP: the only function of this module that uses the
    /// network.
    ///
    /// - Parameters:
    ///   - client: the HTTP client, which follows no redirects: a redirect would forward the secret
    ///     and the code, or lead to another host's keys. Its creator shuts it down.
    ///   - timeout: the time from connecting to the last byte.
    package static func sender(
        _ client: HTTPClient, timeout: Duration = .seconds(timeoutSeconds)
    ) -> Sender {
        { request in
            try await withTimeout(timeout) {
                var sent = HTTPClientRequest(url: request.url.text)
                sent.headers.add(name: "accept", value: "application/json")
                sent.headers.add(name: "user-agent", value: "Perennial")
                if let authorization = request.authorization {
                    sent.headers.add(name: "authorization", value: authorization)
                }
                if let form = request.form {
                    sent.method = .POST
                    sent.headers.add(
                        name: "content-type", value: "application/x-www-form-urlencoded")
                    sent.body = .bytes(ByteBuffer(string: form))
                }
                let answer = try await client.execute(sent, deadline: .distantFuture)
                return OpenIDResponse(
                    status: Int(answer.status.code),
                    body: try await bytes(of: answer, max: request.answerBytesMax))
            }
        }
    }
}

private func bytes(of answer: HTTPClientResponse, max most: Int) async throws -> [UInt8] {
    do {
        return Array((try await answer.body.collect(upTo: most)).readableBytesView)
    } catch is NIOTooManyBytesError {
        throw OpenIDFailure.unreadable("it has more than \(most) bytes")
    }
}

/// Applies the timeout to the whole response. The library's own deadline covers only the head.
private func withTimeout(
    _ timeout: Duration, _ body: @escaping @Sendable () async throws -> OpenIDResponse
) async throws -> OpenIDResponse {
    try await withThrowingTaskGroup(of: OpenIDResponse.self) { tasks in
        tasks.addTask { try await body() }
        tasks.addTask {
            try await Task.sleep(for: timeout)
            throw OpenIDFailure.unavailable("it did not respond within \(timeout)")
        }
        defer { tasks.cancelAll() }
        guard let first = try await tasks.next() else { throw CancellationError() }
        return first
    }
}
