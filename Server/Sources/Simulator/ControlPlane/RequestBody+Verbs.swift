import AppStoreFormats

// Parses the bodies of verbs into acts.

extension RequestBody {
    /// An amount of money in thousandths of the currency unit: a text such as `12.99`, or a number.
    func milliunits(_ field: String) throws(SimulatorProblem) -> Int64? {
        guard let value = value(field) else { return nil }
        let amount: Int64? =
            switch value {
            case .string(let text), .decimal(let text): StoreKitFile.milliunits(text)
            case .integer(let whole): StoreKitFile.milliunits(String(whole))
            default: nil
            }
        guard let amount else { throw Self.invalidField(field, "an amount such as \"12.99\"") }
        return amount
    }

    /// The field `environment`. Production if it is absent.
    func environment() throws(SimulatorProblem) -> SimulatedEnvironment {
        let word = try string("environment") ?? SimulatedEnvironment.production.rawValue
        guard let environment = SimulatedEnvironment(rawValue: word) else {
            throw Self.invalidField("environment", "production or sandbox")
        }
        return environment
    }

    /// The value of a field, which must be one of the words of an enumeration. Nil if it is absent.
    func word<Word: RawRepresentable & CaseIterable>(
        _ field: String, _ type: Word.Type
    ) throws(SimulatorProblem) -> Word? where Word.RawValue == String {
        guard let text = try string(field) else { return nil }
        guard let word = Word(rawValue: text) else {
            let names = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw Self.invalidField(field, "one of \(names)")
        }
        return word
    }
}

extension RefundOrder {
    static let fields = [
        SimulatorRoute.Field("type", "string", "full (default) or prorated."),
        SimulatorRoute.Field(
            "percentage", "number", "For prorated: 0 to 100; by default the unused part."),
        SimulatorRoute.Field("reason", "integer", "0 other (default), 1 an issue with the app."),
    ]

    private enum Kind: String, CaseIterable {
        case full
        case prorated
    }

    init(_ body: RequestBody) throws(SimulatorProblem) {
        let reason = try body.integer("reason") ?? RevocationReason.other.rawValue
        guard (0...1).contains(reason) else { throw RequestBody.invalidField("reason", "0 or 1") }
        let percent = try body.number("percentage")
        if let percent, !(0...100).contains(percent) {
            throw RequestBody.invalidField("percentage", "a number from 0 to 100")
        }
        let thousandths = percent.map { Int64(($0 * 1000).rounded()) }
        let kind = try body.word("type", Kind.self) ?? (percent == nil ? .full : .prorated)
        let share: Share =
            switch kind {
            case .full: .whole
            case .prorated: .prorated(thousandths)
            }
        self.init(share, reason: RevocationReason(rawValue: reason))
    }
}

extension RefundRequest {
    static let fields = [
        SimulatorRoute.Field(
            "reason", "string",
            "UNINTENDED_PURCHASE (default), FULFILLMENT_ISSUE, UNSATISFIED_WITH_PURCHASE, LEGAL "
                + "or OTHER."),
        SimulatorRoute.Field(
            "decision", "string",
            "granted or declined, at once; else after refund_decision_hours, as the app prefers."),
    ]

    private enum Reason: String, CaseIterable {
        case unintendedPurchase = "UNINTENDED_PURCHASE"
        case fulfillmentIssue = "FULFILLMENT_ISSUE"
        case unsatisfiedWithPurchase = "UNSATISFIED_WITH_PURCHASE"
        case legal = "LEGAL"
        case other = "OTHER"
    }

    static func reason(_ body: RequestBody) throws(SimulatorProblem) -> ConsumptionRequestReason {
        let word = try body.word("reason", Reason.self) ?? .unintendedPurchase
        return ConsumptionRequestReason(rawValue: word.rawValue)
    }

    static func decision(_ body: RequestBody) throws(SimulatorProblem) -> Decision? {
        try body.word("decision", Decision.self)
    }
}

extension PriceRise.Order {
    static let fields = [
        SimulatorRoute.Field("price", "string", "The new price, such as \"12.99\"."),
        SimulatorRoute.Field(
            "consent", "boolean", "Whether the customer has to agree; true by default."),
        SimulatorRoute.Field("at", "string", "First renewal with this price; by default the next."),
    ]

    init(_ body: RequestBody) throws(SimulatorProblem) {
        guard let price = try body.milliunits("price") else {
            throw .badRequest("The field price is missing.", remedy: "Send {\"price\": \"12.99\"}.")
        }
        self.init(
            price: price, needsConsent: try body.bool("consent") ?? true,
            from: try body.time("at"))
    }
}

extension ExtensionOrder {
    static let fields = [
        SimulatorRoute.Field("days", "integer", "1 to 90."),
        SimulatorRoute.Field(
            "reason", "integer", "0 undeclared (default), 1 satisfaction, 2 other, 3 an outage."),
    ]

    init(_ body: RequestBody) throws(SimulatorProblem) {
        guard let days = try body.integer("days"), let days = Int(exactly: days) else {
            throw .badRequest("The field days is missing.", remedy: "Send {\"days\": 7}.")
        }
        self.init(days: days, reason: try body.integer("reason") ?? 0)
    }
}

extension AdvancedCommerceChange {
    static let fields = [
        SimulatorRoute.Field(
            "type", "string", "MIGRATION first, then METADATA_UPDATE or PRICE_CHANGE."),
        SimulatorRoute.Field("display_name", "string", "The name that the customer sees."),
        SimulatorRoute.Field("description", "string", "The text below it."),
        SimulatorRoute.Field("price", "string", "For PRICE_CHANGE, such as \"12.99\"."),
        SimulatorRoute.Field(
            "skus", "array", "For MIGRATION: the items' SKUs; by default the product's id."),
    ]

    /// The maximum number of items of one subscription.
    private static let itemsMax = 100

    init(_ body: RequestBody) throws(SimulatorProblem) {
        guard let kind = try body.word("type", Kind.self) else {
            throw .badRequest(
                "The field type is missing.", remedy: "Send {\"type\": \"MIGRATION\"}.")
        }
        self.init(
            kind, displayName: try body.string("display_name"),
            description: try body.string("description"), price: try body.milliunits("price"),
            skus: try Self.skus(body))
    }

    private static func skus(_ body: RequestBody) throws(SimulatorProblem) -> [String]? {
        guard let list = body.value("skus") else { return nil }
        let skus = (list.array ?? []).compactMap(\.string).filter { !$0.isEmpty }
        guard (1...itemsMax).contains(skus.count), skus.count == list.array?.count else {
            throw RequestBody.invalidField("skus", "a list of 1 to \(itemsMax) texts")
        }
        return skus
    }
}
