/// A reduced price for a limited time.
package struct StoreKitOffer: Hashable, Sendable {
    /// The customers who may redeem a code.
    package struct Customers: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Customers who have never had a subscription in the group.
        package static let new = Self(rawValue: 1)
        package static let existing = Self(rawValue: 2)
        package static let expired = Self(rawValue: 4)
        package static let all: Self = [.new, .existing, .expired]
    }

    package var type: OfferType
    /// The offer's id: the identifier of a promotional or win-back offer, or the reference name of
    /// a code. Nil for an introductory offer.
    package var id: String?
    package var discount: OfferDiscountType
    /// The length of one period of the offer. Without meaning if the discount is `oneTime`: such an
    /// offer has no length.
    package var period: BillingPeriod
    package var periodCount: Int
    /// The price in thousandths of the currency unit: for each period or, if the offer is paid up
    /// front, for all periods. Zero for a free trial.
    package var price: Int64
    /// The billing plan to which the offer belongs. Nil before version 5 of the file.
    package var billingPlan: BillingPlanType?
    /// Who may use the offer. Only codes restrict this.
    package var customers = Customers.all
    /// Whether a code's offer follows an introductory offer instead of replacing it.
    package var isStackable = false
    /// Whether a switch in the file says that the customer meets Apple's criteria for a win-back
    /// offer.
    package var isEligible = true

    package init(
        type: OfferType, id: String? = nil, discount: OfferDiscountType, period: BillingPeriod,
        periodCount: Int = 1, price: Int64 = 0
    ) {
        self.type = type
        self.id = id
        self.discount = discount
        self.period = period
        self.periodCount = periodCount
        self.price = price
    }
}

extension StoreKitOffer {
    /// A code for a one-time product.
    ///
    /// - Parameter price: the price of one unit, in thousandths of the currency unit.
    package static func oneTimeCode(_ id: String, price: Int64) -> Self {
        Self(type: .code, id: id, discount: .oneTime, period: BillingPeriod(1, .day), price: price)
    }
}
