import AppStoreFormats

// What can be done to purchases from outside. One route for each verb.

extension SimulatorRoute {
    static let subscriptionRoutes =
        SubscriptionVerb.allCases.map(subscriptionRoute)
        + TransactionVerb.allCases.map {
            verb in
            post(
                "/_sim/transactions/{id}/\(verb.rawValue)", summary(of: verb), []
            ) { simulator, call in
                let answer = try await simulator.change(
                    transaction: call.parameter("id"), verb)
                return .json(answer.json)
            }
        }

    private static func subscriptionRoute(_ verb: SubscriptionVerb) -> Self {
        post(
            "/_sim/subscriptions/{id}/\(verb.rawValue)", summary(of: verb), fields(of: verb)
        ) { simulator, call in
            let answer = try await simulator.change(
                simulator.originalTransactionID(named: call.parameter("id")), verb,
                productID: call.body.string("product_id"),
                transactionID: call.body.string("transaction_id"))
            return .json(answer.json)
        }
    }

    private static func summary(of verb: SubscriptionVerb) -> String {
        switch verb {
        case .cancel: "The customer switches renewal off."
        case .resume: "The customer switches renewal on again."
        case .changeProduct: "The customer chooses another product of the group."
        case .failBilling: "From now on the bank refuses."
        case .recoverBilling: "The bank accepts again."
        case .refund: "The App Store gives the money back."
        case .reverseRefund: "The App Store takes a refund back."
        case .expire: "The subscription ends now, for no reason of the customer's."
        case .renewNow: "The next period is charged now."
        }
    }

    private static func summary(of verb: TransactionVerb) -> String {
        switch verb {
        case .refund: "The App Store gives the money for one transaction back."
        case .reverseRefund: "The App Store takes the refund of one transaction back."
        }
    }

    private static func fields(of verb: SubscriptionVerb) -> [Field] {
        switch verb {
        case .changeProduct: [Field("product_id", "string", "The product to change to.")]
        case .refund, .reverseRefund:
            [Field("transaction_id", "string", "Which one; else the latest possible.")]
        case .cancel, .resume, .failBilling, .recoverBilling, .expire, .renewNow: []
        }
    }
}

extension VerbAnswer {
    fileprivate var json: JSON {
        [
            "now": .string(RFC3339.text(now)), "purchase": purchase.json,
            "notifications": .array(
                notices.map { notice in
                    [
                        "type": notice.type.json, "subtype": notice.subtype?.json ?? .null,
                        "uuid": .string(notice.uuid),
                    ]
                }),
        ]
    }
}
