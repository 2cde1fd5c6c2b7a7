import AppStoreFormats
import AsyncHTTPClient
import NIOCore

/// The time from connecting to the last byte of a response. Apple usually responds within a tenth
/// of a second, and rarely after four seconds.
package let appStoreTimeoutSeconds: Int64 = 20

/// Sends requests to the App Store over HTTP.
///
/// - Parameters:
///   - client: the HTTP client; for Apple, with the configuration `.appStore`. Its creator shuts it
///     down.
///   - timeout: the time from connecting to the last byte.
package func httpSender(
    _ client: HTTPClient, hosts: AppStoreHosts,
    timeout: Duration = .seconds(appStoreTimeoutSeconds)
) -> @Sendable (AppStoreRequest) async throws -> AppStoreResponse {
    { request in
        try await withTimeout(timeout) {
            let answer = try await client.execute(
                HTTPClientRequest(request, hosts), deadline: .distantFuture)
            let bytes = try await bytes(of: answer)
            return AppStoreResponse(
                status: Int(answer.status.code),
                retryAfter: answer.headers.first(name: "retry-after"),
                date: answer.headers.first(name: "date").flatMap { HTTPDate.moment($0) },
                body: bytes)
        }
    }
}

extension HTTPClient.Configuration {
    /// The configuration for requests to the App Store. A client with this configuration gives up
    /// quickly if nothing responds, and follows no redirects, because a redirect would forward the
    /// token.
    package static var appStore: Self {
        var configuration = Self(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(5)
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}

private func bytes(of answer: HTTPClientResponse) async throws -> [UInt8] {
    let most = AppStoreResponse.bodyBytesMax
    do {
        return Array((try await answer.body.collect(upTo: most)).readableBytesView)
    } catch is NIOTooManyBytesError {
        throw AppStoreFailure.unreadable("a response of more than \(most) bytes")
    }
}

/// Applies the timeout to the whole response. The library's own deadline covers only the head.
private func withTimeout(
    _ timeout: Duration, _ body: @escaping @Sendable () async throws -> AppStoreResponse
) async throws -> AppStoreResponse {
    try await withThrowingTaskGroup(of: AppStoreResponse.self) { tasks in
        tasks.addTask { try await body() }
        tasks.addTask {
            try await Task.sleep(for: timeout)
            throw AppStoreFailure.unavailable("no complete response within \(timeout)")
        }
        defer { tasks.cancelAll() }
        guard let first = try await tasks.next() else { throw CancellationError() }
        return first
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
        guard !query.isEmpty else { return "" }
        return "?" + query.map { "\($0)=\(encoded($1))" }.joined(separator: "&")
    }

    /// Percent-encodes everything but the unreserved characters of RFC 3986 §2.3.
    private static func encoded(_ value: String) -> String {
        value.utf8.reduce(into: "") { text, byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let hex = String(byte, radix: 16, uppercase: true)
                text += "%" + (hex.utf8.count < 2 ? "0" : "") + hex
            }
        }
    }
}
