import AsyncHTTPClient
import NIOCore

extension BucketClient {
    /// The time for a response besides that for its bytes.
    private static let timeoutSeconds = 10
    /// The same for a request that deletes many objects, or assembles one from its parts.
    private static let longTimeoutSeconds = 300
    /// The maximum size of a response without a part of an object, in bytes.
    private static let listBytesMax = 1_048_576
    /// The slowest transfer that is waited for, in bytes per second.
    package static let bytesPerSecondMin = 65_536

    /// Sends requests over HTTP: the only function of this module that uses the network.
    ///
    /// - Parameter client: the HTTP client, with the configuration `.bucket`. Its creator shuts it
    ///   down.
    package static func sender(
        _ client: HTTPClient
    ) -> @Sendable (BucketRequest) async throws -> BucketResponse {
        { request in
            try await withTimeout(timeout(of: request)) {
                var sent = HTTPClientRequest(url: request.url)
                sent.method = .init(rawValue: request.method)
                for (name, value) in request.headers where name != "host" {
                    sent.headers.add(name: name, value: value)
                }
                sent.headers.add(name: "user-agent", value: "Perennial")
                if !request.body.isEmpty { sent.body = .bytes(ByteBuffer(bytes: request.body)) }
                let answer = try await client.execute(sent, deadline: .distantFuture)
                var headers: [String: String] = [:]
                for (name, value) in answer.headers { headers[name.lowercased()] = value }
                return BucketResponse(
                    status: Int(answer.status.code), headers: headers,
                    body: request.method == "HEAD" ? [] : try await Self.bytes(of: answer))
            }
        }
    }

    /// The longest time for the whole response to a request.
    static func timeout(of request: BucketRequest) -> Duration {
        let received: Int
        switch (request.method, request.headers["range"]) {
        case ("GET", let range?):
            let ends = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
            received = ends.count == 2 ? ends[1] - ends[0] + 1 : partBytesMin
        case ("GET", nil): received = listBytesMax
        default: received = 0
        }
        let seconds = request.method == "POST" ? longTimeoutSeconds : timeoutSeconds
        return .seconds(seconds + (request.body.count + received) / bytesPerSecondMin)
    }

    private static func bytes(of answer: HTTPClientResponse) async throws -> [UInt8] {
        let most = BucketResponse.bodyBytesMax
        do {
            return Array((try await answer.body.collect(upTo: most)).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw BucketFailure.unreadable("it has more than \(most) bytes")
        }
    }

    /// Applies the timeout to the whole response. The library's own deadline covers only the head.
    private static func withTimeout(
        _ timeout: Duration, _ body: @escaping @Sendable () async throws -> BucketResponse
    ) async throws -> BucketResponse {
        try await withThrowingTaskGroup(of: BucketResponse.self) { tasks in
            tasks.addTask { try await body() }
            tasks.addTask {
                try await Task.sleep(for: timeout)
                throw BucketFailure.unavailable("no complete response within \(timeout)")
            }
            defer { tasks.cancelAll() }
            guard let first = try await tasks.next() else { throw CancellationError() }
            return first
        }
    }
}

extension HTTPClient.Configuration {
    /// The configuration for requests to a bucket. It follows no redirects: a signature is valid
    /// for one host only.
    package static var bucket: Self {
        var configuration = Self(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(5)
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}
