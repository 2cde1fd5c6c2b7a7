import AsyncHTTPClient
import NIOCore
import OutgoingHTTP

extension BucketClient {
    /// The time for a response besides that for its bytes.
    private static let timeoutSeconds = 10
    /// The same for a request that deletes many objects, or assembles one from its parts.
    private static let longTimeoutSeconds = 300
    /// The maximum size of a response without a part of an object, in bytes.
    private static let listBytesMax = 1_048_576
    /// The slowest transfer that is waited for, in bytes per second.
    static let bytesPerSecondMin = 65_536

    /// Sends requests over HTTP: the only function of this module that uses the network.
    ///
    /// - Parameter client: the HTTP client, with the configuration `.withoutRedirects`: a
    ///   signature is valid for one host only. Its creator shuts it down.
    package static func sender(
        _ client: HTTPClient
    ) -> @Sendable (BucketRequest) async throws -> BucketResponse {
        { request in
            var sent = HTTPClientRequest(url: request.url)
            sent.method = .init(rawValue: request.method)
            for (name, value) in request.headers where name != "host" {
                sent.headers.add(name: name, value: value)
            }
            sent.headers.add(name: "user-agent", value: "Perennial")
            if !request.body.isEmpty { sent.body = .bytes(ByteBuffer(bytes: request.body)) }
            do {
                let answer = try await sent.wholeResponse(
                    by: client, within: timeout(of: request),
                    bodyBytesMax: BucketResponse.bodyBytesMax)
                var headers: [String: String] = [:]
                for (name, value) in answer.headers { headers[name.lowercased()] = value }
                return BucketResponse(status: answer.status, headers: headers, body: answer.body)
            } catch let failure as ResponseFailure {
                switch failure {
                case .late: throw BucketFailure.unavailable("\(failure)")
                case .tooLarge: throw BucketFailure.unreadable("\(failure)")
                }
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
}
