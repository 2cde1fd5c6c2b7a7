import Engine
import Ledger
import PerennialContract
import RevenueCatWebhooks

extension WebhookSubject {
    /// The maximum size of a body, in bytes. If a body would be larger, it omits the customer. Such
    /// a customer has thousands of purchases. The receiver can request the customer separately.
    static let bodyBytesMax = 262_144

    /// Returns one body for each delivery. Equal subjects give equal bytes.
    package func bodies() throws -> [[UInt8]] {
        switch content {
        case .perennial(let event, let epochs, let state):
            [try Self.body(of: Event(event, in: epochs), state)]
        case .revenueCat(let event, let epochs, let context):
            try RevenueCatEvent.events(
                for: Event(event, in: epochs),
                in: RevenueCatContext(context, of: app, Event(event, in: epochs))
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
    fileprivate init(_ context: EventContext, of app: AppID, _ event: Event) {
        self.init(
            app: app.rawValue, customer: context.customer.map(CustomerIDs.init),
            formerCustomer: context.former.map(CustomerIDs.init),
            accountToken: context.accountToken, timeline: context.timeline,
            entitlements: context.entitlements.map(\.rawValue), offering: context.placement)
        anonymousID = context.anonymousID?.rawValue
        attributes = context.attributes
        movements = context.movements.map { $0.map { WalletMovement($0) } }
        let money = context.money
        dollars = { amount, moment in money.dollars(for: amount, at: moment) }
        isToldOfAnother = context.isToldOfAnother
        remaining = context.remaining.compactMap { purchase in
            context.loser.map { Remaining(purchase, of: $0, context, app, event) }
        }
    }
}

extension RevenueCatContext.CustomerIDs {
    fileprivate init(_ people: EventContext.People) {
        self.init(
            first: people.first.rawValue, last: people.last.rawValue,
            all: people.all.map(\.rawValue))
    }
}

extension RevenueCatContext.Remaining {
    fileprivate init(
        _ purchase: PurchaseState, of loser: EventContext.People, _ context: EventContext,
        _ app: AppID, _ moved: Event
    ) {
        let timeline = purchase.timeline
        let term = context.remainingTerms[timeline.purchase]
        let payment = term?.payment ?? timeline.period(at: context.now)?.payment
        var condition = purchase.access.map { access in
            PurchaseCondition(
                productID: payment?.product.rawValue ?? "", active: access.isOpen,
                state: AccessState(access.state), until: access.until.map { Timestamp($0) },
                willRenew: access.willRenew)
        }
        if let term {
            condition = PurchaseCondition(
                productID: term.product.rawValue, active: true, state: .paid,
                until: Timestamp(term.until), willRenew: false)
        }
        var event = Event(
            id: moved.id, sequence: moved.sequence, type: .extended, at: moved.at,
            knownAt: moved.knownAt, customerID: loser.first.rawValue,
            purchaseID: timeline.purchase.description,
            originalTransactionID: timeline.purchase.original.rawValue,
            environment: moved.environment, productID: payment?.product.rawValue,
            transactionID: payment?.transaction.rawValue, cause: moved.cause)
        (event.before, event.after) = (condition, condition)
        let rights = context.rights.filter { right in
            payment.map { right.value.contains($0.product) } ?? false
        }
        self.init(
            event,
            RevenueCatContext(
                app: app.rawValue, customer: RevenueCatContext.CustomerIDs(loser),
                timeline: timeline, entitlements: rights.keys.map(\.rawValue).sorted()))
    }
}
