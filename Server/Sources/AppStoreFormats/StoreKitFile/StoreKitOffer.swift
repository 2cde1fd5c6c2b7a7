/// A reduced price for a time.
package struct StoreKitOffer: Hashable, Sendable {
    /// Who may redeem a code.
    package struct Customers: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Never subscribed in the group.
        package static let new = Self(rawValue: 1)
        package static let existing = Self(rawValue: 2)
        package static let expired = Self(rawValue: 4)
        package static let all: Self = [.new, .existing, .expired]
    }

    package var type: OfferType
    /// Promotional and win-back offers have an identifier, codes their reference name; introductory
    /// offers have none.
    package var id: String?
    package var discount: OfferDiscountType
    /// Without meaning if the discount is `oneTime`: such an offer has no length.
    package var period: BillingPeriod
    package var periodCount: Int
    /// In thousandths of the currency unit, for each period (pay up front: for all of them); zero
    /// for a free trial.
    package var price: Int64
    /// The billing plan that the offer is for; nil before version 5 of the file.
    package var billingPlan: BillingPlanType?
    /// Who may use the offer. Only codes restrict this.
    package var customers = Customers.all
    /// For codes: whether it follows an introductory offer instead of replacing it.
    package var isStackable = false
    /// For win-back offers: the switch that represents Apple's eligibility criteria.
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
    /// - Parameter price: of one, in thousandths of the currency unit.
    package static func oneTimeCode(_ id: String, price: Int64) -> Self {
        Self(type: .code, id: id, discount: .oneTime, period: BillingPeriod(1, .day), price: price)
    }
}
