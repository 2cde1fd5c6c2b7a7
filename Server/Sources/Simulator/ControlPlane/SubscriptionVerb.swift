import AppStoreFormats

// Actions on purchases from outside. One route for each verb.

/// An action on a subscription, by its name in the routes.
enum SubscriptionVerb: String, Hashable, Sendable, CaseIterable {
    case cancel
    case resume
    case changeProduct = "change-product"
    case failBilling = "fail-billing"
    case recoverBilling = "recover-billing"
    case refund
    case reverseRefund = "reverse-refund"
    case requestRefund = "request-refund"
    case raisePrice = "raise-price"
    case consent
    case decline
    case extend
    case removeFromSale = "remove-from-sale"
    case expire
    case renewNow = "renew-now"
    case advancedCommerce = "advanced-commerce"
}

extension SimulatorRoute {
    static let subscriptionRoutes =
        SubscriptionVerb.allCases.map(subscriptionRoute)
        + TransactionVerb.allCases.map(transactionRoute)

    private static func subscriptionRoute(_ verb: SubscriptionVerb) -> Self {
        post(
            "/_sim/subscriptions/{id}/\(verb.rawValue)", verb.summary, verb.fields,
            gives: .json("VerbAnswer")
        ) { simulator, call in
            let id = try await simulator.originalTransactionID(named: call.parameter("id"))
            return .json(try await simulator.change(id, verb.act(call.body)).json)
        }
    }
}

extension SubscriptionVerb {
    fileprivate var summary: String {
        switch self {
        case .cancel: "The customer switches renewal off."
        case .resume: "The customer switches renewal on again."
        case .changeProduct: "The customer chooses another product of the group."
        case .failBilling: "Payments fail from now on."
        case .recoverBilling: "Payments succeed again."
        case .refund: "The App Store refunds a transaction."
        case .reverseRefund: "The App Store reverses a refund."
        case .requestRefund: "The customer requests a refund; a second call decides."
        case .raisePrice: "The customer is told of a higher price."
        case .consent: "The customer agrees to the higher price."
        case .decline: "The customer does not agree to the higher price."
        case .extend: "The developer extends the renewal date."
        case .removeFromSale: "The product is no longer sold or renewed."
        case .expire: "The subscription ends now, for a reason not of the customer's."
        case .renewNow: "The next period is charged now."
        case .advancedCommerce: "The developer changes it through the Advanced Commerce API."
        }
    }

    fileprivate var fields: [SimulatorRoute.Field] {
        switch self {
        case .changeProduct: [.init("product_id", "string", "The product to change to.")]
        case .refund: RefundOrder.fields + [Self.seatsField, Self.transactionField]
        case .reverseRefund: [Self.transactionField]
        case .requestRefund: RefundRequest.fields + [Self.transactionField]
        case .raisePrice: PriceRise.Order.fields
        case .extend: ExtensionOrder.fields
        case .advancedCommerce: AdvancedCommerceChange.fields
        case .cancel, .resume, .failBilling, .recoverBilling, .consent, .decline, .removeFromSale,
            .expire, .renewNow:
            []
        }
    }

    private static let transactionField = SimulatorRoute.Field(
        "transaction_id", "string", "Which transaction; by default the latest possible.")

    private static let seatsField = SimulatorRoute.Field(
        "seats", "integer", "How many seats; by default the whole transaction.")

    fileprivate func act(_ body: RequestBody) throws(SimulatorProblem) -> SubscriptionAct {
        switch self {
        case .cancel: return .cancel
        case .resume: return .resume
        case .changeProduct: return .changeProduct(try body.requiredString("product_id"))
        case .failBilling: return .failBilling
        case .recoverBilling: return .recoverBilling
        case .refund:
            if let seats = try body.integer("seats") {
                return .refundSeats(
                    seats, reason: try RefundOrder(body).reason,
                    of: try body.string("transaction_id"))
            }
            return .refund(try RefundOrder(body), of: try body.string("transaction_id"))
        case .reverseRefund: return .reverseRefund(of: try body.string("transaction_id"))
        case .requestRefund:
            return .requestRefund(
                try RefundRequest.reason(body), try RefundRequest.decision(body),
                of: try body.string("transaction_id"))
        case .raisePrice: return .raisePrice(try PriceRise.Order(body))
        case .consent: return .consent
        case .decline: return .decline
        case .extend: return .extend(try ExtensionOrder(body))
        case .removeFromSale: return .removeFromSale
        case .expire: return .expire
        case .renewNow: return .renewNow
        case .advancedCommerce: return .advancedCommerce(try AdvancedCommerceChange(body))
        }
    }
}

extension VerbOutcome {
    var json: JSON {
        [
            "now": .string(RFC3339.text(now)), "purchase": purchase.json,
            "notifications": .array(notifications.map(\.json)),
        ]
    }
}

extension NotificationDraft {
    /// The notification as listed in a verb's response.
    var json: JSON {
        [
            "type": type.json, "subtype": subtype?.json ?? .null, "uuid": .string(uuid),
            "row": row.map { .integer(Int64($0.rawValue)) } ?? .null,
        ]
    }
}
