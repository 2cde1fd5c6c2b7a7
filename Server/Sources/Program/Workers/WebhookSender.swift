import Courier
import Engine
import HTTPServer
import NIOPosix
import PerennialContract

/// Posts webhooks over the network, for the engine.
enum WebhookSender {
    /// The transport of this process. Its worker id distinguishes it from other processes on one
    /// database.
    static func transport() -> WebhookTransport {
        WebhookTransport(
            holder: CheckWorker.ofThisProcess().holder,
            render: { try $0.bodies() }, post: post,
            newSecret: {
                var random = SystemRandomNumberGenerator()
                return WebhookSecret.fresh(by: &random).text
            }, isSecret: { WebhookSecret($0) != nil })
    }

    @Sendable static func post(_ post: WebhookPost) async -> WebhookAnswer {
        let courier = Courier(rules: HostRules(post.rules)) { host in
            // The system's resolver waits for the network, and so must not use this thread.
            try await NIOThreadPool.singleton.runIfActive { try HostRules.resolve(host) }
        }
        let outcome = await courier.post(
            Courier.Parcel(
                url: post.url, id: post.message, body: post.body,
                secrets: post.secrets.compactMap { WebhookSecret($0) },
                authorization: post.authorization))
        return switch outcome {
        case .answer(let status, let body, let retryAfter):
            .answer(status: status, body: body, retryAfter: retryAfter)
        case .failure(let reason): .failure(reason)
        }
    }
}

extension HostRules {
    fileprivate init(_ rules: WebhookRules) {
        self.init(privateHosts: rules.privateHosts, allowsLoopback: rules.allowsLoopback)
    }
}
