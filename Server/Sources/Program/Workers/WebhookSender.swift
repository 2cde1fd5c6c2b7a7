import Courier
import Engine
import HTTPServer
import PerennialContract
import Storage

/// Posts webhooks over the network, for the engine.
enum WebhookSender {
    /// The transport of this process. The worker id distinguishes this process from other processes
    /// on one database.
    static func transport() -> WebhookTransport {
        let lookups = HostLookups()
        return WebhookTransport(
            holder: CheckWorker.ofThisProcess().holder,
            render: { try $0.bodies() }, post: { await post($0, by: lookups) },
            newSecret: {
                var random = SystemRandomNumberGenerator()
                return WebhookSecret.fresh(by: &random).text
            }, isSecret: { WebhookSecret($0) != nil })
    }

    private static func post(
        _ post: WebhookPost, by lookups: HostLookups
    ) async -> WebhookAnswer {
        let courier = Courier(rules: HostRules(post.rules)) { host in
            try await lookups.addresses(of: host)
        }
        let outcome = await courier.post(
            Courier.Parcel(
                url: post.url, id: post.message, body: post.body,
                secrets: post.secrets.compactMap { WebhookSecret($0) },
                authorization: post.authorization, traceparent: post.traceparent))
        return switch outcome {
        case .answer(let status, let body, let retryAfter):
            .answer(status: status, body: body, retryAfter: retryAfter)
        case .failure(let reason): .failure(reason)
        case .notAttempted: .notAttempted
        }
    }
}

extension HostRules {
    init(_ rules: WebhookRules) {
        self.init(
            privateHosts: rules.privateHosts, plainHosts: rules.plainHosts,
            allowsLoopback: rules.allowsLoopback)
    }
}
