/// The body of `PUT /v1/customers/{id}/consumption`: what the server may report to Apple if the
/// customer asks the App Store for a refund. Idempotent.
public struct ConsumptionRequest: Hashable, Sendable, Codable {
    /// Whether the customer consented to sharing this information with Apple. Without consent,
    /// nothing is sent to Apple.
    public var consented: Bool
    /// Whether the customer could try the product before buying it. If nil, the configured value
    /// applies.
    public var sampleContentProvided: Bool?
    /// How single purchases were delivered and used. For purchases that the list does not contain,
    /// earlier reports stay valid.
    public var purchases: [PurchaseUse]?

    public init(
        consented: Bool, sampleContentProvided: Bool? = nil, purchases: [PurchaseUse]? = nil
    ) {
        self.consented = consented
        self.sampleContentProvided = sampleContentProvided
        self.purchases = purchases
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case consented
        case sampleContentProvided = "sample_content_provided"
        case purchases
    }
}

/// How one purchase was delivered and used.
public struct PurchaseUse: Hashable, Sendable, Codable {
    /// The id of the purchase's transaction.
    public var transactionID: String
    /// How the delivery went: `delivered`, `quality_issue`, `wrong_product`, `server_outage` or
    /// `other`.
    public var delivery: String
    /// The used share of the purchase in percent, from 0 to 100. If nil, the server computes the
    /// share from its own data.
    public var usedPercent: Double?

    public init(transactionID: String, delivery: String, usedPercent: Double?) {
        self.transactionID = transactionID
        self.delivery = delivery
        self.usedPercent = usedPercent
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case transactionID = "transaction_id"
        case delivery
        case usedPercent = "used_percent"
    }
}

/// What was reported about a customer, Apple's consumption requests, and the responses to them.
public struct ConsumptionOverview: Hashable, Sendable, Codable {
    /// Whether the customer consented, according to the last report. Nil if consent was never
    /// reported.
    public var consented: Bool?
    /// When consent was last reported. Nil if consent was never reported.
    public var consentedAt: Timestamp?
    public var sampleContentProvided: Bool?
    public var purchases: [PurchaseUse]
    /// Apple's consumption requests, in the order in which Apple sent them.
    public var requests: [ConsumptionQuestion]

    public init(
        consented: Bool?, consentedAt: Timestamp?, sampleContentProvided: Bool?,
        purchases: [PurchaseUse], requests: [ConsumptionQuestion]
    ) {
        self.consented = consented
        self.consentedAt = consentedAt
        self.sampleContentProvided = sampleContentProvided
        self.purchases = purchases
        self.requests = requests
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case consented
        case consentedAt = "consented_at"
        case sampleContentProvided = "sample_content_provided"
        case purchases
        case requests
    }
}

/// One consumption request from Apple, about a purchase whose customer asked for a refund.
public struct ConsumptionQuestion: Hashable, Sendable, Codable {
    public var transactionID: String
    public var productID: String
    /// Why the customer asked for a refund, in Apple's word, such as `UNINTENDED_PURCHASE`.
    public var reason: String?
    public var askedAt: Timestamp
    /// The time after which Apple accepts no response.
    public var answerUntil: Timestamp
    /// The state of the request: `waiting`, `answered`, `withheld` or `given_up`.
    public var state: String
    /// The number of attempts to send a response.
    public var attempts: Int
    /// When the request was answered, withheld or given up. Nil while it waits.
    public var endedAt: Timestamp?
    /// Why no response was sent yet, or why none will be sent. Nil if there is no such reason.
    public var trouble: String?
    /// The response that was sent to Apple. Nil if no response was sent.
    public var answer: ConsumptionAnswer?

    public init(
        transactionID: String, productID: String, reason: String?, askedAt: Timestamp,
        answerUntil: Timestamp, state: String, attempts: Int, endedAt: Timestamp?,
        trouble: String?, answer: ConsumptionAnswer?
    ) {
        self.transactionID = transactionID
        self.productID = productID
        self.reason = reason
        self.askedAt = askedAt
        self.answerUntil = answerUntil
        self.state = state
        self.attempts = attempts
        self.endedAt = endedAt
        self.trouble = trouble
        self.answer = answer
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case transactionID = "transaction_id"
        case productID = "product_id"
        case reason
        case askedAt = "asked_at"
        case answerUntil = "answer_until"
        case state
        case attempts
        case endedAt = "ended_at"
        case trouble
        case answer
    }
}

/// The consumption information that was sent to Apple.
public struct ConsumptionAnswer: Hashable, Sendable, Codable {
    public var delivery: String
    /// The used share of the purchase in percent. Nil for subscriptions, and if the share is
    /// unknown.
    public var usedPercent: Double?
    public var sampleContentProvided: Bool
    /// The decision that the server asked Apple for: `decline`, `grant_full` or `grant_prorated`.
    public var refundPreference: String?

    public init(
        delivery: String, usedPercent: Double?, sampleContentProvided: Bool,
        refundPreference: String?
    ) {
        self.delivery = delivery
        self.usedPercent = usedPercent
        self.sampleContentProvided = sampleContentProvided
        self.refundPreference = refundPreference
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case delivery
        case usedPercent = "used_percent"
        case sampleContentProvided = "sample_content_provided"
        case refundPreference = "refund_preference"
    }
}
