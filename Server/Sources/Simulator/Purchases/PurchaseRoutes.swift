import AppStoreFormats

// Offers redeemed outside the app, families, and pending purchases.

extension SimulatorRoute {
    static let purchaseRoutes =
        [
            post(
                "/_sim/subscriptions/{id}/redeem-code", "The customer redeems an offer code.",
                [Field("offer", "string", "The code's reference name."), productField],
                gives: .json("VerbAnswer")
            ) { simulator, call in
                let id = try await simulator.originalTransactionID(named: call.parameter("id"))
                let answer = try await simulator.redeemCode(
                    id, offer: call.body.requiredString("offer"),
                    productID: call.body.string("product_id"))
                return .json(answer.json)
            },
            post(
                "/_sim/subscriptions/{id}/win-back", "The customer accepts a win-back offer.",
                [Field("offer", "string", "Its identifier; by default the first."), productField],
                gives: .json("VerbAnswer")
            ) { simulator, call in
                let id = try await simulator.originalTransactionID(named: call.parameter("id"))
                let answer = try await simulator.winBack(
                    id, offer: call.body.string("offer"),
                    productID: call.body.string("product_id"))
                return .json(answer.json)
            },
            post(
                "/_sim/subscriptions/{id}/stop-sharing",
                "Stops Family Sharing; given a member's id, for that member only.", [],
                gives: .json("Clock")
            ) { simulator, call in
                let id = try await simulator.originalTransactionID(named: call.parameter("id"))
                try await simulator.stopSharing(id)
                return .json(await simulator.clockJSON)
            },
            post(
                "/_sim/transactions/{id}/stop-sharing",
                "Stops Family Sharing of a one-time purchase.", [],
                gives: .json("Clock")
            ) { simulator, call in
                try await simulator.stopSharing(call.parameter("id"))
                return .json(await simulator.clockJSON)
            },
        ] + PendingVerb.allCases.map(pendingRoute) + FamilyVerb.allCases.map(familyRoute)

    private static let productField = Field(
        "product_id", "string", "Of the same group; by default the product it would renew as.")

    private static func pendingRoute(_ verb: PendingVerb) -> Self {
        post(
            "/_sim/transactions/{id}/\(verb.rawValue)", verb.summary, [],
            gives: .json("SettledPurchase")
        ) { simulator, call in
            guard let bought = try await simulator.resolve(pending: call.parameter("id"), verb)
            else {
                return .json(["result": "declined"])
            }
            return .json(PurchaseOutcome.purchased(bought).json)
        }
    }

    private static func familyRoute(_ verb: FamilyVerb) -> Self {
        post(
            "/_sim/families/{id}/\(verb.rawValue)", verb.summary,
            [
                Field("account", "string", "The Apple account's name."),
                Field("environment", "string", "production (default) or sandbox."),
            ], gives: .json("Clock")
        ) { simulator, call in
            try await simulator.changeFamily(
                call.parameter("id"), verb, account: call.body.requiredString("account"),
                in: environment(call.body))
            return .json(await simulator.clockJSON)
        }
    }

    static func environment(_ body: RequestBody) throws(SimulatorProblem) -> SimulatedEnvironment {
        let word = try body.string("environment") ?? SimulatedEnvironment.production.rawValue
        guard let environment = SimulatedEnvironment(rawValue: word) else {
            throw RequestBody.invalidField("environment", "production or sandbox")
        }
        return environment
    }
}

extension PendingVerb {
    fileprivate var summary: String {
        switch self {
        case .approve: "A parent approves a pending purchase."
        case .decline: "A parent declines a pending purchase."
        case .resolve: "The customer resolves the issue of a purchase or payment."
        }
    }
}

extension FamilyVerb {
    fileprivate var summary: String {
        switch self {
        case .join: "An account joins a family and gets what the others share."
        case .leave: "An account leaves a family, and loses what the others share."
        }
    }
}

// MARK: - Orders

extension PurchaseOrder {
    static let fields: [SimulatorRoute.Field] = [
        .init("product_id", "string", "What to buy."),
        .init(
            "offer", "object",
            "An offer's identifier; none excludes the introductory one. Or {id, jws}, or {id,"
                + " signature: {key_id, nonce, timestamp, signature}}."),
        .init(
            "introductory_eligibility", "string",
            "A JWS that allows the introductory offer, or does not."),
        .init("billing_plan", "string", "BILLED_UPFRONT, or MONTHLY for a year's commitment."),
        .init(
            "quantity", "integer",
            "1 to 10 for consumables and non-renewing subscriptions, else 1."),
        .init(
            "seats", "integer",
            "How many seats of a subscription there are in all after the purchase."),
        .init("app_account_token", "string", "A UUID chosen by the app."),
        .init(
            "choice", "string",
            "What the customer does: confirm, ask, cancel, fail; by default as set before."),
        .init("in_view", "boolean", "Whether it is bought in one of Apple's views."),
        .init("at", "string", "A later time, to which the clock then moves."),
    ]

    /// What the customer does with the sheet. Nil if the body does not say.
    static func choice(_ body: RequestBody) throws(SimulatorProblem) -> Choice? {
        guard let word = try body.string("choice") else { return nil }
        guard let choice = Choice(rawValue: word) else {
            throw RequestBody.invalidField("choice", "confirm, ask, cancel or fail")
        }
        return choice
    }

    init(_ body: RequestBody) throws(SimulatorProblem) {
        self.init(
            try body.requiredString("product_id"), quantity: try body.integer("quantity") ?? 1,
            seats: try body.integer("seats"),
            appAccountToken: try body.uuid("app_account_token"))
        introductoryEligibility = try body.string("introductory_eligibility")
        if let plan = try body.string("billing_plan") {
            guard ["BILLED_UPFRONT", "MONTHLY"].contains(plan) else {
                throw RequestBody.invalidField("billing_plan", "BILLED_UPFRONT or MONTHLY")
            }
            billingPlan = BillingPlanType(rawValue: plan)
        }
        isInView = try body.bool("in_view") ?? false
        guard let offer = body.value("offer") else { return }
        if let id = offer.string {
            offerID = id
        } else {
            let offer = try RequestBody(offer, known: ["id", "signature", "jws"], place: "offer")
            offerID = try offer.requiredString("id")
            offerProof = try OfferProof(offer)
        }
    }
}

extension OfferProof {
    /// Returns nil if the offer carries no proof.
    fileprivate init?(_ offer: RequestBody) throws(SimulatorProblem) {
        if let jws = try offer.string("jws") {
            self = .compactJWS(jws)
            return
        }
        guard let json = offer.value("signature") else { return nil }
        let part = try RequestBody(
            json, known: ["key_id", "nonce", "timestamp", "signature"], place: "signature")
        guard let timestamp = try part.integer("timestamp") else {
            throw RequestBody.invalidField(
                "signature.timestamp", "a number of milliseconds since 1970")
        }
        self = .text(
            keyID: try part.requiredString("key_id"), nonce: try part.requiredString("nonce"),
            timestamp: timestamp, signature: try part.requiredString("signature"))
    }
}

extension PurchaseOutcome {
    var json: JSON {
        switch self {
        case .purchased(let bought):
            [
                "result": "purchased", "signed_transaction": .string(bought.signedTransaction),
                "transaction_id": .string(bought.transactionID),
                "original_transaction_id": .string(bought.originalTransactionID),
            ]
        case .pending(let id, let reason):
            [
                "result": "pending", "transaction_id": .string(id), "reason": .string(reason),
            ]
        case .cancelled: ["result": "cancelled"]
        case .failed(let error): ["result": "failed", "error": .string(error)]
        }
    }
}
