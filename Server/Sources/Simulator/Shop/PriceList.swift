import AppStoreFormats

/// Prices of products by storefront and time, beyond the single price in a shop file.
package struct PriceList: Hashable, Sendable {
    /// Maximum number of prices in one list: several for every storefront of a hundred products.
    private static let stepsMax = 100_000

    /// A price from a moment on.
    package struct Step: Hashable, Sendable {
        package let from: AppStoreDate
        /// The price in thousandths of the storefront's currency unit.
        package let price: Int64
    }

    private struct Place: Hashable {
        let productID: String
        /// The storefront of the price. Nil for all storefronts without a separate price.
        let country: String?
    }

    private var steps: [Place: [Step]] = [:]
    package private(set) var count = 0

    package init() {}

    /// Sets a price from a moment on, in one storefront or in all without a separate price. If
    /// several prices are set for the same moment, the last one applies.
    ///
    /// - Throws: ``SimulatorProblem`` if the list is full.
    package mutating func set(
        _ price: Int64, of productID: String, in country: String?, from moment: AppStoreDate
    ) throws(SimulatorProblem) {
        guard count < Self.stepsMax else { throw .full }
        count += 1
        let place = Place(productID: productID, country: country)
        let step = Step(from: moment, price: price)
        let index = steps[place]?.lastIndex { $0.from <= moment }.map { $0 + 1 } ?? 0
        steps[place, default: []].insert(step, at: index)
    }

    /// The price for a customer who buys now. Existing subscribers may keep an older price.
    package func price(
        of product: StoreKitProduct, in storefront: Storefront, at now: AppStoreDate
    ) -> Int64 {
        price(of: product.id, in: storefront.country, at: now)
            ?? price(of: product.id, in: nil, at: now) ?? product.price
    }

    private func price(of productID: String, in country: String?, at now: AppStoreDate) -> Int64? {
        steps[Place(productID: productID, country: country)]?.last { $0.from <= now }?.price
    }
}
