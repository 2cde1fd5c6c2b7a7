/// A product in the App Store.
public struct Product: Identifiable, Sendable {
    public struct ProductType: RawRepresentable, Equatable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let consumable = Self(rawValue: "Consumable")
        public static let nonConsumable = Self(rawValue: "Non-Consumable")
        public static let nonRenewable = Self(rawValue: "Non-Renewing Subscription")
        public static let autoRenewable = Self(rawValue: "Auto-Renewable Subscription")

        public var localizedDescription: String { rawValue }
    }

    /// The product's JSON, unchanged from the store's answer.
    public var jsonRepresentation: Data { payload }
    public let id: String
    public let type: ProductType
    public let displayName: String
    public let description: String
    public let price: Decimal
    public let displayPrice: String
    public let isFamilyShareable: Bool
    public let subscription: SubscriptionInfo?
    /// Whether several seats of the product can be bought at once.
    public let supportsMultiSeatPurchase: Bool

    private let payload: Data
    /// The customer's locale, with the currency of the storefront.
    let priceLocale: Locale
    /// The country of the storefront that sent the product, in ISO 3166-1 alpha-3.
    let country: String

    /// - Parameters:
    ///   - payload: the product's JSON in the store's answer.
    ///   - seatTiers: the prices of seats. Empty if the product is not sold in seats.
    init(jsonRepresentation payload: Data, seatTiers: [SeatTierPayload] = []) throws {
        let json = try JSONDecoder().decode(ProductPayload.self, from: payload)
        let attributes = json.attributes
        guard let offer = attributes.offers.first, let price = Decimal(string: offer.price)
        else { throw StoreKitError.systemError(SimulatorRefusal.unreadable("products")) }
        self.payload = payload
        id = json.id
        type = ProductType(rawValue: attributes.kind)
        displayName = attributes.name
        description = attributes.description.standard
        self.price = price
        displayPrice = offer.priceFormatted
        isFamilyShareable = attributes.isFamilyShareable == 1
        subscription = SubscriptionInfo(attributes, offer, seatTiers: seatTiers)
        supportsMultiSeatPurchase = subscription != nil && !seatTiers.isEmpty
        priceLocale = Locale(identifier: attributes.icuLocale ?? "xx_XX")
        country = json.country
    }

    /// The products with these identifiers. Identifiers that the store does not know are left out.
    /// In a cancelled task the result is empty, as observed on devices.
    public static func products<Identifiers>(
        for identifiers: Identifiers
    ) async throws -> [Product]
    where Identifiers: Collection, Identifiers.Element == String {
        try await ProductRequest(identifiers: Array(identifiers)).products()
    }
}

extension Product: Equatable, Hashable {
    public static func == (left: Product, right: Product) -> Bool {
        left.payload == right.payload && left.subscription == right.subscription
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(payload) }
}

extension Product: CustomDebugStringConvertible {
    public var debugDescription: String { String(decoding: payload, as: UTF8.self) }
}

// MARK: - Transactions of the product

extension Product {
    public var latestTransaction: VerificationResult<Transaction>? {
        get async { await Transaction.latest(for: id) }
    }

    public var currentEntitlement: VerificationResult<Transaction>? {
        get async { await Transaction.currentEntitlement(for: id) }
    }

    public var currentEntitlements: Transaction.Transactions {
        Transaction.currentEntitlements(for: id)
    }
}

// MARK: - Formats
//
// `subscriptionPeriodFormatStyle` is not here, because on Linux Foundation's
// `Date.ComponentsFormatStyle` cannot format.

extension Product {
    public var priceFormatStyle: Decimal.FormatStyle.Currency {
        Decimal.FormatStyle.Currency(
            code: priceLocale.currency?.identifier ?? "", locale: priceLocale)
    }

    public var subscriptionPeriodUnitFormatStyle: SubscriptionPeriod.Unit.FormatStyle {
        SubscriptionPeriod.Unit.FormatStyle().locale(priceLocale)
    }
}
