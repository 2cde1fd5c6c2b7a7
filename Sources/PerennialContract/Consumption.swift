/// What `PUT /v1/customers/{id}/consumption` takes: what the App Store may be told where the
/// customer wishes to have the money back. Harmless to repeat.
public struct ConsumptionRequest: Hashable, Sendable, Codable {
    /// Whether the customer agreed to it. Without it nothing is told.
    public var consented: Bool
    /// Whether they could try before buying; nil: as the configuration says.
    public var sampleContentProvided: Bool?
    /// What is left out stays as it was said before.
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
    public var transactionID: String
    /// `delivered`, `quality_issue`, `wrong_product`, `server_outage`, `other`.
    public var delivery: String
    /// 0 to 100; nil: as the server knows it.
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

/// What was said of a customer, what the App Store asked, and what it was told.
public struct ConsumptionOverview: Hashable, Sendable, Codable {
    /// Nil where nobody has said.
    public var consented: Bool?
    public var consentedAt: Timestamp?
    public var sampleContentProvided: Bool?
    public var purchases: [PurchaseUse]
    /// In the order in which they were asked.
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

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(consented, forKey: .consented)
        try members.encode(consentedAt, forKey: .consentedAt)
        try members.encode(sampleContentProvided, forKey: .sampleContentProvided)
        try members.encode(purchases, forKey: .purchases)
        try members.encode(requests, forKey: .requests)
    }
}

/// The App Store asks about a purchase whose refund its customer wishes.
public struct ConsumptionQuestion: Hashable, Sendable, Codable {
    public var transactionID: String
    public var productID: String
    /// In Apple's word, such as `UNINTENDED_PURCHASE`.
    public var reason: String?
    public var askedAt: Timestamp
    /// No answer is taken after that.
    public var answerUntil: Timestamp
    /// `waiting`, `answered`, `withheld`, `given_up`.
    public var state: String
    public var attempts: Int
    public var endedAt: Timestamp?
    /// Why it was not answered, or not yet.
    public var trouble: String?
    /// What was sent.
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

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(transactionID, forKey: .transactionID)
        try members.encode(productID, forKey: .productID)
        try members.encode(reason, forKey: .reason)
        try members.encode(askedAt, forKey: .askedAt)
        try members.encode(answerUntil, forKey: .answerUntil)
        try members.encode(state, forKey: .state)
        try members.encode(attempts, forKey: .attempts)
        try members.encode(endedAt, forKey: .endedAt)
        try members.encode(trouble, forKey: .trouble)
        try members.encode(answer, forKey: .answer)
    }
}

/// What the App Store was told.
public struct ConsumptionAnswer: Hashable, Sendable, Codable {
    public var delivery: String
    /// Nil where nothing tells, and of subscriptions.
    public var usedPercent: Double?
    public var sampleContentProvided: Bool
    /// `decline`, `grant_full`, `grant_prorated`.
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

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(delivery, forKey: .delivery)
        try members.encode(usedPercent, forKey: .usedPercent)
        try members.encode(sampleContentProvided, forKey: .sampleContentProvided)
        try members.encode(refundPreference, forKey: .refundPreference)
    }
}
