import AppStoreFormats
import Engine
import Storage
import Synchronization

@testable import Program

/// Receives webhooks in RevenueCat's form, without HTTP.
final class PostedWebhooks: Sendable {
    private let events = Mutex<[JSON]>([])

    let endpoint = ConfiguredWebhook(
        id: "crm", settings: WebhookSettings(url: "https://example.com/", format: .revenueCat),
        secrets: [webhookSecret])

    /// The webhooks posted since the last call, in order.
    func take() -> [JSON] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    var transport: WebhookTransport {
        var transport = WebhookSender.transport()
        transport.post = { [self] post in
            guard let event = (try? JSON(parsing: post.body))?["event"] else {
                return .answer(status: 400)
            }
            events.withLock { $0.append(event) }
            return .answer(status: 200)
        }
        return transport
    }
}
