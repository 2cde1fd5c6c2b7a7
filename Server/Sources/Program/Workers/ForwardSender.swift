import AsyncHTTPClient
import Engine
import NIOCore
import Storage

/// Forwards notifications to other addresses, unchanged.
struct ForwardSender: Sendable {
    /// The maximum time from connecting to the end of the response. This time is shorter than the
    /// lease of an attempt.
    static let timeout = Duration.seconds(10)
    /// The maximum number of bytes of a response that are read. These bytes are read only so that
    /// the connection can be reused.
    private static let responseBytesMax = 65_536

    /// The client must not follow redirects, because the body may contain a secret.
    let client: HTTPClient

    /// The forwarding of this process. The worker id distinguishes this process from other
    /// processes on one database.
    func forwarding() -> ForwardingSettings {
        ForwardingSettings(holder: CheckWorker.ofThisProcess().holder, post: post)
    }

    @Sendable func post(_ url: String, _ arrived: ReceivedNotification) async -> ForwardResult {
        await withTaskGroup(of: ForwardResult.self) { tasks in
            tasks.addTask { await attempt(url, arrived) }
            tasks.addTask {
                do { try await Task.sleep(for: Self.timeout) } catch {
                    return .noResponse("this server was stopping")
                }
                return .noResponse("no response within \(Self.timeout)")
            }
            defer { tasks.cancelAll() }
            return await tasks.next() ?? .noResponse("no response")
        }
    }

    private func attempt(_ url: String, _ arrived: ReceivedNotification) async -> ForwardResult {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        if let contentType = arrived.contentType {
            request.headers.add(name: "content-type", value: contentType)
        }
        request.headers.add(name: "user-agent", value: "Perennial")
        request.body = .bytes(ByteBuffer(bytes: arrived.body))
        do {
            let answer = try await client.execute(request, deadline: .distantFuture)
            let status = ForwardResult.status(Int(answer.status.code))
            do { _ = try await answer.body.collect(upTo: Self.responseBytesMax) } catch {
                // The status counts even if the rest of the response does not arrive.
                return status
            }
            return status
        } catch {
            return .noResponse("\(error)")
        }
    }
}
