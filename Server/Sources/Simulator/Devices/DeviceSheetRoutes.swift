import AppStoreFormats

// Sheets, messages and purchase intents of a device.

extension SimulatorRoute {
    static let deviceSheetRoutes =
        [
            post(
                "/_sim/devices/{id}/refund-request", "The customer asks for a refund in the app.",
                [
                    Field("transaction_id", "string", "Which transaction."),
                    Field("choice", "string", "submit (default) or cancel."),
                ] + RefundRequest.fields, gives: .json("RefundSheet")
            ) { simulator, call in
                let id = try call.body.requiredString("transaction_id")
                let choice = try call.body.word("choice", RefundSheetChoice.self)
                let result = try await simulator.requestRefund(
                    of: id, on: call.parameter("id"), isCancelled: choice == .cancel,
                    reason: RefundRequest.reason(call.body),
                    decision: RefundRequest.decision(call.body))
                return .json([
                    "result": .string(result.rawValue), "transaction_id": .string(id),
                ])
            },
            post(
                "/_sim/devices/{id}/manage-subscriptions",
                "The customer opens the list of subscriptions.",
                [
                    Field("choice", "string", "close (default), cancel, resume or change."),
                    Field("group_id", "string", "The group that is shown; all by default."),
                    Field("product_id", "string", "For change: the product to change to."),
                ], gives: .json("ManageSheet")
            ) { simulator, call in
                let shown = try await simulator.manageSubscriptions(
                    on: call.parameter("id"), group: call.body.string("group_id"),
                    act(of: call.body))
                return .json([
                    "result": "closed", "original_transaction_ids": texts(shown),
                ])
            },
            post(
                "/_sim/devices/{id}/redeem-code", "The customer enters an offer code.",
                [
                    Field("code", "string", "The code's reference name. Default: cancel."),
                    Field("product_id", "string", "By default the first product with such a code."),
                ], gives: .json("PurchaseOutcome")
            ) { simulator, call in
                let id = try call.parameter("id")
                guard let code = try call.body.string("code") else {
                    return .json(PurchaseOutcome.cancelled.json)
                }
                return .json(
                    try await simulator.redeemCode(
                        code, productID: call.body.string("product_id"), on: id
                    ).json)
            },
            post(
                "/_sim/devices/{id}/sign-out", "The Apple account is signed out on the device.", [],
                gives: .json("DeviceName")
            ) { simulator, call in
                let id = try call.parameter("id")
                try await simulator.signOut(on: id)
                return .json(["device_id": .string(id)])
            },
            get(
                "/_sim/devices/{id}/products", "StoreKit's products, in Apple's JSON.",
                query: ["ids", "locale"], gives: .json("DeviceProducts")
            ) { simulator, call in
                let id = try call.parameter("id")
                try await simulator.check(.products, on: id)
                return .json(
                    try await simulator.products(
                        call.query["ids"], on: id, locale: call.query["locale"]))
            },
        ] + messageRoutes + intentRoutes

    private static let messageRoutes = [
        get("/_sim/devices/{id}/messages", "Messages that wait.", gives: .json("StoreMessages")) {
            simulator, call in
            .json(try await simulator.messagesJSON(on: call.parameter("id")))
        },
        post(
            "/_sim/devices/{id}/messages", "Adds a message that no subscription causes.",
            [Field("reason", "string", "generic by default.")], gives: .json("StoreMessages")
        ) { simulator, call in
            let id = try call.parameter("id")
            let reason = try call.body.word("reason", StoreMessage.Reason.self) ?? .generic
            try await simulator.order(message: reason, on: id)
            return .json(try await simulator.messagesJSON(on: id))
        },
        post(
            "/_sim/devices/{id}/messages/{message_id}/display", "The app shows a message.",
            [Field("choice", "string", "accept, decline or close (default).")],
            gives: .json("StoreMessages")
        ) { simulator, call in
            let id = try call.parameter("id")
            try await simulator.display(
                message: call.parameter("message_id"), on: id,
                call.body.word("choice", StoreMessage.Choice.self) ?? .close)
            return .json(try await simulator.messagesJSON(on: id))
        },
    ]

    private static let intentRoutes = [
        get(
            "/_sim/devices/{id}/purchase-intents", "Purchase intents that wait.",
            gives: .json("PurchaseIntents")
        ) { simulator, call in
            .json(try await simulator.intentsJSON(on: call.parameter("id")))
        },
        post(
            "/_sim/devices/{id}/purchase-intents", "The customer chooses a promoted product.",
            [
                Field("product_id", "string", "Which product."),
                Field("offer", "string", "A win-back offer of the product."),
            ], gives: .json("PurchaseIntents")
        ) { simulator, call in
            let id = try call.parameter("id")
            try await simulator.addIntent(
                to: call.body.requiredString("product_id"), offer: call.body.string("offer"),
                on: id)
            return .json(try await simulator.intentsJSON(on: id))
        },
        post(
            "/_sim/devices/{id}/purchase-intents/{intent_id}/take", "The app takes an intent.", [],
            gives: .json("PurchaseIntents")
        ) { simulator, call in
            let id = try call.parameter("id")
            try await simulator.removeIntent(call.parameter("intent_id"), on: id)
            return .json(try await simulator.intentsJSON(on: id))
        },
    ]

    private enum RefundSheetChoice: String, CaseIterable {
        case submit
        case cancel
    }

    private enum ManageChoice: String, CaseIterable {
        case close
        case cancel
        case resume
        case change
    }

    private static func act(of body: RequestBody) throws(SimulatorProblem) -> SubscriptionAct? {
        switch try body.word("choice", ManageChoice.self) ?? .close {
        case .close: nil
        case .cancel: .cancel
        case .resume: .resume
        case .change: .changeProduct(try body.requiredString("product_id"))
        }
    }
}

extension AppStoreSimulator {
    fileprivate func messagesJSON(on deviceID: String) throws -> JSON {
        ["messages": .array(try world.messages(on: deviceID).map(\.json))]
    }

    fileprivate func intentsJSON(on deviceID: String) throws -> JSON {
        ["intents": .array(try life(of: deviceID).intents.map(\.json))]
    }
}

extension StoreMessage {
    var json: JSON {
        [
            "id": .string(id), "reason": .string(reason.rawValue),
            "original_transaction_id": originalTransactionID.map { .string($0) } ?? .null,
            "product_id": productID.map { .string($0) } ?? .null,
        ]
    }
}

extension PurchaseIntent {
    var json: JSON {
        [
            "id": .string(id), "product_id": .string(productID),
            "offer": offerID.map { .string($0) } ?? .null,
        ]
    }
}
