import AsyncHTTPClient
import Engine
import NIOCore

/// Sends notifications on to other addresses, as they came.
struct ForwardPost: Sendable {
    /// From the connection to the end of the answer. Shorter than the lease of an attempt.
    static let timeout = Duration.seconds(10)
    /// Bytes of an answer that are read, so that the connection can be used again. What it says is
    /// of no interest.
    private static let answerBytesMax = 65_536

    /// Follows no redirect: what is posted may hold a secret.
    let client: HTTPClient

    /// What each process calls itself to the others that work on one database.
    func forwarding() -> Forwarding {
        Forwarding(holder: CheckWorker.ofThisProcess().holder, post: post)
    }

    @Sendable func post(_ url: String, _ arrived: ArrivedNotification) async -> ForwardAnswer {
        await withTaskGroup(of: ForwardAnswer.self) { tasks in
            tasks.addTask { await attempt(url, arrived) }
            tasks.addTask {
                do { try await Task.sleep(for: Self.timeout) } catch {
                    return .none("this server was stopping")
                }
                return .none("no answer within \(Self.timeout)")
            }
            defer { tasks.cancelAll() }
            return await tasks.next() ?? .none("no answer")
        }
    }

    private func attempt(_ url: String, _ arrived: ArrivedNotification) async -> ForwardAnswer {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        if let contentType = arrived.contentType {
            request.headers.add(name: "content-type", value: contentType)
        }
        request.headers.add(name: "user-agent", value: "Perennial")
        request.body = .bytes(ByteBuffer(bytes: arrived.body))
        do {
            let answer = try await client.execute(request, deadline: .distantFuture)
            let status = ForwardAnswer.status(Int(answer.status.code))
            do { _ = try await answer.body.collect(upTo: Self.answerBytesMax) } catch {
                // The status is the answer, whatever becomes of the rest.
                return status
            }
            return status
        } catch {
            return .none("\(error)")
        }
    }
}
