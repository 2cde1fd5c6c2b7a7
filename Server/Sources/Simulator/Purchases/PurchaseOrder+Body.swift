import AppStoreFormats

// An order in the body of a request, and its outcome in the response.

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
            "The number of a subscription's seats after the purchase."),
        .init("app_account_token", "string", "A UUID chosen by the app."),
        .init(
            "choice", "string",
            "What the customer does: confirm, ask, cancel or fail. Default: as next-sheet set."),
        .init("in_view", "boolean", "Whether the purchase is made in one of Apple's views."),
        .init("at", "string", "A later time of the purchase, to which the clock moves."),
    ]

    /// What the customer does with the sheet. Nil if the body does not contain a choice.
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
    /// Reads the proof of an offer in a body. Returns nil if the offer has none.
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
