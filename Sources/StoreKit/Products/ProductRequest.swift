/// A request to the store for products.
struct ProductRequest: Sendable {
    /// The maximum number of identifiers in one call of the simulator.
    static let identifiersMax = 100

    var identifiers: [String]
    var client = StoreClient(.current)

    func products() async throws -> [Product] {
        var found: [Product] = []
        for start in stride(from: 0, to: identifiers.count, by: Self.identifiersMax) {
            let part = identifiers[start..<min(start + Self.identifiersMax, identifiers.count)]
            found += try await products(of: part.filter { !$0.contains(",") && !$0.isEmpty })
        }
        if Task.isCancelled { return [] }
        return found
    }

    private func products(of ids: [String]) async throws -> [Product] {
        guard !ids.isEmpty else { return [] }
        let query = ["ids": ids.joined(separator: ",")]
        let body = try await client.readData("products", query)
        let answer = try JSONSerialization.jsonObject(with: body) as? [String: Any]
        let products = answer?["products"] as? [[String: Any]] ?? []
        return try products.map { product in
            guard let json = product["json_representation"] else {
                throw StoreKitError.systemError(SimulatorRefusal.unreadable("products"))
            }
            return try Product(
                jsonRepresentation: JSONSerialization.data(
                    withJSONObject: json, options: [.sortedKeys, .withoutEscapingSlashes]),
                seatTiers: seatTiers(of: product))
        }
    }

    /// The seat tiers of a product. The simulator sends the tiers beside Apple's JSON, because
    /// Apple's names for tiers are not known.
    private func seatTiers(of product: [String: Any]) throws -> [SeatTierPayload] {
        guard product["supports_multi_seat"] as? Bool == true, let tiers = product["price_tiers"]
        else { return [] }
        let json = try JSONSerialization.data(withJSONObject: tiers)
        return try JSONDecoder.simulator.decode([SeatTierPayload].self, from: json)
    }
}

/// The members of Apple's product JSON that StoreKit reads.
struct ProductPayload: Decodable {
    struct Attributes: Decodable {
        let name: String
        let description: Description
        let kind: String
        let icuLocale: String?
        let isFamilyShareable: Int?
        let offers: [Offer]
        let subscriptionFamilyId: String?
        let subscriptionFamilyName: String?
        let subscriptionFamilyRank: Int?
    }

    struct Description: Decodable {
        let standard: String
    }

    struct Offer: Decodable {
        let price: String
        let priceFormatted: String
        let recurringSubscriptionPeriod: String?
        let discounts: [Discount]?
        let billingPlans: [BillingPlan]?
    }

    struct Discount: Decodable {
        let id: String?
        let type: String
        let modeType: String
        let numOfPeriods: Int
        let recurringSubscriptionPeriod: String
        let price: String
        let priceFormatted: String
        let billingPlanType: String?
    }

    struct BillingPlan: Decodable {
        let billingPlanType: String
        let price: String
        let priceFormatted: String
        let commitmentPrice: String
        let commitmentPriceFormatted: String
    }

    let id: String
    let href: String?
    let attributes: Attributes

    /// The country, read from the path of the catalogue.
    var country: String {
        let parts = href?.split(separator: "/") ?? []
        return parts.count > 2 ? parts[2].uppercased() : ""
    }
}
