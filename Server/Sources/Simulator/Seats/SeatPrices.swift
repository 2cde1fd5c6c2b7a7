import AppStoreFormats

/// The products that are sold in seats, and the price of each further seat. The first seats cost as
/// much as the product. Tiers are graduated: buying more seats does not make the earlier ones
/// cheaper.
package struct SeatPrices: Hashable, Sendable {
    /// Maximum number of tiers of one product, including the first one (Apple's limit).
    package static let tiersMax = 5
    /// Maximum number of seats of one purchase.
    package static let seatsMax: Int64 = 1_000_000

    /// Maximum cost of one purchase, in thousandths of the currency's unit.
    package static let costMax: Int64 = 1_000_000_000_000_000

    /// A price of one seat, and the number of the first seat that it applies to.
    package struct Step: Hashable, Sendable {
        package let from: Int64
        /// The price of one seat, in thousandths of the currency's unit.
        package let price: Int64
    }

    /// The tiers of a product after the first one.
    struct Tiers: Hashable, Sendable {
        var everywhere: [Step] = []
        /// The tiers of storefronts that have separate prices.
        var byCountry: [String: [Step]] = [:]
    }

    private var products: [String: Tiers] = [:]

    package init() {}

    mutating func set(_ tiers: Tiers, of productID: String) { products[productID] = tiers }

    /// The products that can be sold in several seats.
    var productIDs: [String] { products.keys.sorted() }

    /// Whether a product can be sold in several seats at all.
    package func sells(_ productID: String) -> Bool { products[productID] != nil }

    /// All tiers of a product. The first tier has the given price. Nil if the product is not sold
    /// in seats.
    func steps(of productID: String, at price: Int64, in country: String) -> [Step]? {
        guard let tiers = products[productID] else { return nil }
        return [Step(from: 1, price: price)] + (tiers.byCountry[country] ?? tiers.everywhere)
    }

    /// The tiers of a range of seats. The first seat has the number 1.
    func tiers(
        of productID: String, seats: Range<Int64>, at price: Int64, in country: String
    ) -> [SeatTier] {
        let steps = steps(of: productID, at: price, in: country) ?? [Step(from: 1, price: price)]
        return steps.indices.compactMap { place in
            let end = place + 1 < steps.count ? steps[place + 1].from : .max
            let count = seats.clamped(to: steps[place].from..<end).count
            return count > 0 ? SeatTier(price: steps[place].price, count: Int64(count)) : nil
        }
    }

    /// What App Store Connect might refuse, although the simulator accepts it.
    func warnings(for products: [StoreKitProduct]) -> [String] {
        products.flatMap { product -> [String] in
            guard let tiers = self.products[product.id] else { return [] }
            var found: [String] = []
            for steps in [tiers.everywhere] + tiers.byCountry.values where !steps.isEmpty {
                let isOfThisPrice = steps == tiers.everywhere
                let prices = (isOfThisPrice ? [product.price] : []) + steps.map(\.price)
                if zip(prices, prices.dropFirst()).contains(where: { $0 < $1 }) {
                    found.append("multi_seat of \(product.id): a later tier costs more")
                }
            }
            if product.isFamilyShareable {
                found.append(
                    "multi_seat of \(product.id): a purchase of several seats is not shared with "
                        + "the family")
            }
            return found
        }
    }
}

/// The number of seats of a transaction that have one price.
struct SeatTier: Hashable, Sendable {
    /// The price of one seat, in thousandths of the currency's unit.
    let price: Int64
    let count: Int64
}

extension [SeatTier] {
    var count: Int64 { reduce(0) { $0 + $1.count } }

    var total: Int64 {
        reduce(0) { sum, tier in
            let (cost, isTooMuch) = tier.price.multipliedReportingOverflow(by: tier.count)
            let (next, isTooMuchTogether) = sum.addingReportingOverflow(cost)
            return isTooMuch || isTooMuchTogether ? .max : next
        }
    }

    /// The rounded price of one seat: Apple's `price`.
    var average: Int64 {
        let (whole, rest) = total.quotientAndRemainder(dividingBy: Swift.max(1, count))
        return whole + (rest * 2 >= Swift.max(1, count) ? 1 : 0)
    }

    /// The seats that are left after some of the cheapest are removed.
    func dropping(cheapest seats: Int64) -> [SeatTier] {
        var rest = seats
        return sorted { $0.price < $1.price }.compactMap { tier in
            let taken = Swift.min(rest, tier.count)
            rest -= taken
            return taken < tier.count
                ? SeatTier(price: tier.price, count: tier.count - taken) : nil
        }
    }

    /// The cost of a number of seats: the cheapest ones, after the `gone` cheapest seats are
    /// skipped.
    func cheapest(_ seats: Int64, after gone: Int64) -> Int64 {
        var (skipped, left, sum) = (gone, seats, Int64(0))
        for tier in sorted(by: { $0.price < $1.price }) {
            let passed = Swift.min(skipped, tier.count)
            let taken = Swift.min(left, tier.count - passed)
            (skipped, left, sum) = (skipped - passed, left - taken, sum + taken * tier.price)
        }
        return sum
    }
}

/// Who invites the members of a group (App Store Connect: `groupPurchaseInvitationMode`).
package enum SeatInvitations: String, Hashable, Sendable, CaseIterable {
    case apple
    case developer

    var word: InvitationManagement {
        switch self {
        case .apple: .apple
        case .developer: .developer
        }
    }
}
