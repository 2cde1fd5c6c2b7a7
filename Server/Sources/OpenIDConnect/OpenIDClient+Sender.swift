import AsyncHTTPClient
import NIOCore
import OutgoingHTTP

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
            var sent = HTTPClientRequest(url: request.url.text)
            sent.headers.add(name: "accept", value: "application/json")
            sent.headers.add(name: "user-agent", value: "Perennial")
            if let authorization = request.authorization {
                sent.headers.add(name: "authorization", value: authorization)
            }
            if let form = request.form {
                sent.method = .POST
                sent.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
                sent.body = .bytes(ByteBuffer(string: form))
            }
            do {
                let answer = try await sent.wholeResponse(
                    by: client, within: timeout, bodyBytesMax: request.answerBytesMax)
                return OpenIDResponse(status: answer.status, body: answer.body)
            } catch let failure as ResponseFailure {
                switch failure {
                case .late(let timeout):
                    throw OpenIDFailure.unavailable("it did not respond within \(timeout)")
                case .tooLarge: throw OpenIDFailure.unreadable("\(failure)")
                }
            }
        }
    }
}
