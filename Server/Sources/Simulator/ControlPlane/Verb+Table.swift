import AppStoreFormats

/// The table of verbs. To add one, add its row here, its act to ``SubscriptionAct`` or
/// ``TransactionAct``, and its function to ``World``.
extension Verb {
    static let all = subscriptions + transactions + families + organizations

    private static let subscriptions: [Self] = [
        .subscription("cancel", "The customer switches renewal off.") { _ in .cancel },
        .subscription("resume", "The customer switches renewal on again.") { _ in .resume },
        .subscription(
            "change-product", "The customer chooses another product of the group.",
            [.init("product_id", "string", "The product to change to.")]
        ) { .changeProduct(try $0.requiredString("product_id")) },
        .subscription("fail-billing", "Payments fail from now on.") { _ in .failBilling },
        .subscription("recover-billing", "Payments succeed again.") { _ in .recoverBilling },
        .subscription(
            "refund", "The App Store refunds a transaction.",
            RefundOrder.fields + [refundedSeats, chosenTransaction]
        ) { body in
            let seats = try body.integer("seats")
            let order = try RefundOrder(body)
            let transactionID = try body.string("transaction_id")
            guard let seats else { return .refund(order, of: transactionID) }
            return .refundSeats(seats, reason: order.reason, of: transactionID)
        },
        .subscription(
            "reverse-refund", "The App Store reverses a refund.", [chosenTransaction]
        ) { .reverseRefund(of: try $0.string("transaction_id")) },
        .subscription(
            "request-refund", "The customer requests a refund; a second call decides.",
            RefundRequest.fields + [chosenTransaction]
        ) {
            .requestRefund(
                try RefundRequest.reason($0), try RefundRequest.decision($0),
                of: try $0.string("transaction_id"))
        },
        .subscription(
            "raise-price", "The customer is told of a higher price.", PriceRise.Order.fields
        ) { .raisePrice(try PriceRise.Order($0)) },
        .subscription("consent", "The customer agrees to the higher price.") { _ in .consent },
        .subscription("decline", "The customer does not agree to the higher price.") { _ in
            .decline
        },
        .subscription(
            "extend", "The developer extends the renewal date.", ExtensionOrder.fields
        ) { .extend(try ExtensionOrder($0)) },
        .subscription("remove-from-sale", "The product is no longer sold or renewed.") { _ in
            .removeFromSale
        },
        .subscription(
            "expire", "The subscription ends now, and the customer did not cause it."
        ) { _ in .expire },
        .subscription("renew-now", "The next period is charged now.") { _ in .renewNow },
        .subscription(
            "advanced-commerce", "The developer changes it through the Advanced Commerce API.",
            AdvancedCommerceChange.fields
        ) { .advancedCommerce(try AdvancedCommerceChange($0)) },
        .subscription(
            "redeem-code", "The customer redeems an offer code.",
            [.init("offer", "string", "The code's reference name."), offerProduct]
        ) {
            .redeemCode(
                offer: try $0.requiredString("offer"), productID: try $0.string("product_id"))
        },
        .subscription(
            "win-back", "The customer accepts a win-back offer.",
            [.init("offer", "string", "Its identifier; by default the first."), offerProduct]
        ) { .winBack(offer: try $0.string("offer"), productID: try $0.string("product_id")) },
        .subscription(
            "change-seats", "The purchaser plans the seats of the next period.",
            [.init("seats", "integer", "How many; not more than now.")]
        ) { body in
            guard let seats = try body.integer("seats") else {
                throw RequestBody.invalidField("seats", "a number")
            }
            return .changeSeats(seats)
        },
        .subscription(
            "join-group", "An account accepts the purchaser's invitation by Apple's link.",
            [account]
        ) { .joinGroup(try $0.requiredString("account")) },
        .subscription(
            "leave-group", "A member leaves the group, or the purchaser removes them.", [account]
        ) { .leaveGroup(try $0.requiredString("account")) },
        Self(
            subject: .subscriptions, name: "stop-sharing",
            summary: "Stops Family Sharing; given a member's id, for that member only.",
            fields: [], schema: "Clock"
        ) { simulator, name, _ in
            try await simulator.stopSharing(simulator.originalTransactionID(named: name))
            return await simulator.clockJSON
        },
    ]

    private static let transactions: [Self] = [
        .transaction(
            "refund", "The App Store refunds one transaction.", RefundOrder.fields
        ) { .refund(try RefundOrder($0)) },
        .transaction(
            "reverse-refund", "The App Store reverses the refund of one transaction."
        ) { _ in .reverseRefund },
        .transaction(
            "request-refund", "The customer requests a refund of one transaction.",
            RefundRequest.fields
        ) { .requestRefund(try RefundRequest.reason($0), try RefundRequest.decision($0)) },
        .pending(.approve, "A parent approves a pending purchase."),
        .pending(.decline, "A parent declines a pending purchase."),
        .pending(.resolve, "The customer resolves the issue of a purchase or payment."),
        Self(
            subject: .transactions, name: "stop-sharing",
            summary: "Stops Family Sharing of a one-time purchase.", fields: [], schema: "Clock"
        ) { simulator, id, _ in
            try await simulator.stopSharing(id)
            return await simulator.clockJSON
        },
    ]

    private static let families: [Self] = [
        .family(.join, "An account joins a family and gets what the others share."),
        .family(.leave, "An account leaves a family, and loses what the others share."),
    ]

    private static let organizations: [Self] = [
        .organization(
            .assign,
            "An organization assigns a seat to an account; it buys seats first if needed."),
        .organization(.unassign, "An organization takes a seat back."),
    ]

    // MARK: Fields of several verbs

    private static let chosenTransaction = SimulatorRoute.Field(
        "transaction_id", "string", "Which transaction; by default the latest possible.")

    private static let refundedSeats = SimulatorRoute.Field(
        "seats", "integer", "How many seats; by default the whole transaction.")

    private static let offerProduct = SimulatorRoute.Field(
        "product_id", "string", "Of the same group; by default the product it would renew as.")
}
