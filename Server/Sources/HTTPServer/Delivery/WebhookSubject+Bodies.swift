import Engine
import Ledger
import PerennialContract
import RevenueCatWebhooks

extension WebhookSubject {
    /// The maximum size of a body, in bytes. The customer is left out of a larger one: they have
    /// thousands of purchases, and can be asked for.
    static let bodyBytesMax = 262_144

    /// One body for each delivery. The same bytes for the same subject.
    package func bodies() throws -> [[UInt8]] {
        switch content {
        case .perennial(let event, let epochs, let state):
            [try Self.body(of: Event(event, in: epochs), state)]
        case .revenueCat(let event, let epochs, let context):
            try RevenueCatEvent.events(
                for: Event(event, in: epochs), in: RevenueCatContext(context, of: app)
            ).map { try ContractEncoder().encode($0) }
        case .test(.perennial, _, let moment):
            [
                try ContractEncoder().encode(
                    WebhookMessage(
                        type: EventType(rawValue: "test"), timestamp: Timestamp(moment),
                        data: .init(event: nil, customer: nil)))
            ]
        case .test(.revenueCat, let message, let moment):
            [
                try ContractEncoder().encode(
                    RevenueCatEvent.test(
                        message, at: Timestamp(moment), app: app.rawValue))
            ]
        }
    }

    private static func body(of event: Event, _ state: CustomerState?) throws -> [UInt8] {
        var message = WebhookMessage(
            type: event.type, timestamp: event.knownAt,
            data: .init(event: event, customer: state.map { Customer($0) }))
        let body = try ContractEncoder().encode(message)
        guard body.count > bodyBytesMax else { return body }
        message.data.customer = nil
        return try ContractEncoder().encode(message)
    }
}

extension RevenueCatContext {
    fileprivate init(_ context: EventContext, of app: AppID) {
        self.init(
            app: app.rawValue, customer: context.customer.map(CustomerIDs.init),
            formerCustomer: context.other.map(CustomerIDs.init),
            accountToken: context.accountToken, timeline: context.timeline,
            entitlements: context.entitlements.map(\.rawValue), offering: context.placement)
    }
}

extension RevenueCatContext.CustomerIDs {
    fileprivate init(_ people: EventContext.People) {
        self.init(
            first: people.first.rawValue, last: people.last.rawValue,
            all: people.all.map(\.rawValue))
    }
}
