package import Foundation
package import StoreKit

/// A product as the store describes it.
package struct StoreProduct: Sendable {
    package var id: String
    package var kind: Perennial.Product.Kind
    package var name: String
    package var details: String
    package var price: Decimal
    package var displayPrice: String
    package var currencyCode: String?
    package var period: Perennial.Period?
    package var plans: [Perennial.Plan]
    package var group: String?
    package var offers: [Perennial.Offer]
    package var isFamilyShareable: Bool
    package var seatTiers: [Perennial.SeatTier]
    package var storeProduct: StoreKit.Product?

    package init(
        id: String, kind: Perennial.Product.Kind, name: String, details: String, price: Decimal,
        displayPrice: String, currencyCode: String?, period: Perennial.Period?,
        plans: [Perennial.Plan] = [], group: String?, offers: [Perennial.Offer],
        isFamilyShareable: Bool, seatTiers: [Perennial.SeatTier] = [],
        storeProduct: StoreKit.Product? = nil
    ) {
        self.id = id
        self.kind = kind
        self.name = name
        self.details = details
        self.price = price
        self.displayPrice = displayPrice
        self.currencyCode = currencyCode
        self.period = period
        self.plans = plans
        self.group = group
        self.offers = offers
        self.isFamilyShareable = isFamilyShareable
        self.seatTiers = seatTiers
        self.storeProduct = storeProduct
    }
}

/// StoreKit's purchase options that the app adds.
package struct CustomOptions: Hashable, Sendable {
    package var options: Set<StoreKit.Product.PurchaseOption>

    package init(_ options: Set<StoreKit.Product.PurchaseOption> = []) { self.options = options }
}

/// How the payment sheet is shown, if the app decides this: in a scene, or by a view's action.
package struct PurchaseAnchor: Sendable {
    package typealias Buy =
        @MainActor @Sendable (
            StoreKit.Product, Set<StoreKit.Product.PurchaseOption>
        ) async throws -> StoreKit.Product.PurchaseResult

    package var buy: Buy

    package init(_ buy: @escaping Buy) { self.buy = buy }
}
