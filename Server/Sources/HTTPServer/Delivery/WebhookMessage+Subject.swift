import Engine
import PerennialContract

extension WebhookMessage {
    /// The maximum size of a body, in bytes. The customer is left out of a larger one: they have
    /// thousands of purchases, and can be asked for.
    static let bodyBytesMax = 262_144

    /// The body of a webhook, in the form that it wants. The same bytes for the same subject.
    package static func body(of subject: WebhookSubject) throws -> [UInt8] {
        switch subject.format {
        case .perennial: try perennialBody(of: subject)
        }
    }

    private static func perennialBody(of subject: WebhookSubject) throws -> [UInt8] {
        switch subject.content {
        case .event(let event, let epochs, let state):
            var message = WebhookMessage(
                type: EventType(rawValue: event.entry.change.kind.rawValue),
                timestamp: Timestamp(event.entry.knownAt),
                data: Content(
                    event: Event(event, in: epochs), customer: state.map { Customer($0) }))
            let body = try ContractEncoder().encode(message)
            guard body.count > bodyBytesMax else { return body }
            message.data.customer = nil
            return try ContractEncoder().encode(message)
        case .test(_, let moment):
            return try ContractEncoder().encode(
                WebhookMessage(
                    type: EventType(rawValue: "test"), timestamp: Timestamp(moment),
                    data: Content(event: nil, customer: nil)))
        }
    }
}
