import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// A response of another server, received to its last byte.
package struct WholeResponse: Sendable {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]
}

extension HTTPClientRequest {
    /// Sends the request, and receives the whole response. The timeout covers the body, too; the
    /// library's own deadline covers only the head.
    ///
    /// - Parameters:
    ///   - client: the HTTP client. Its creator shuts it down. With the library's own
    ///     configuration, a refused connection is tried again until the timeout.
    ///   - timeout: the time from connecting to the last byte.
    ///   - bodyBytesMax: the maximum size of the body, in bytes.
    /// - Throws: ``ResponseFailure``, or an error of the library if the request gets no response.
    package func wholeResponse(
        by client: HTTPClient, within timeout: Duration, bodyBytesMax: Int
    ) async throws -> WholeResponse {
        try await withThrowingTaskGroup(of: WholeResponse.self) { tasks in
            tasks.addTask {
                let response = try await client.execute(self, deadline: .distantFuture)
                return WholeResponse(
                    status: Int(response.status.code), headers: response.headers,
                    body: try await bytes(of: response, max: bodyBytesMax))
            }
            tasks.addTask {
                try await Task.sleep(for: timeout)
                throw ResponseFailure.late(timeout: timeout)
            }
            defer { tasks.cancelAll() }
            guard let first = try await tasks.next() else { throw CancellationError() }
            return first
        }
    }
}

private func bytes(of response: HTTPClientResponse, max bytesMax: Int) async throws -> [UInt8] {
    do {
        return Array((try await response.body.collect(upTo: bytesMax)).readableBytesView)
    } catch is NIOTooManyBytesError {
        throw ResponseFailure.tooLarge(bytesMax: bytesMax)
    }
}

/// Why a response was not received to its last byte.
package enum ResponseFailure: Error, Hashable, Sendable, CustomStringConvertible {
    case late(timeout: Duration)
    case tooLarge(bytesMax: Int)

    /// A phrase that ends a sentence about the response.
    package var description: String {
        switch self {
        case .late(let timeout): "no complete response within \(timeout)"
        case .tooLarge(let bytesMax): "it has more than \(bytesMax) bytes"
        }
    }
}

extension HTTPClient.Configuration {
    /// The configuration for requests with a secret, such as a token or a signature. A client with
    /// this configuration follows no redirects, because a redirect would forward the secret. It
    /// gives up quickly if nothing responds: the callers repeat requests by their own schedules.
    package static var withoutRedirects: Self {
        var configuration = Self(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(5)
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}
