internal import Foundation
internal import StoreKit

// Xcode 27.3 and later declare seats. The version of its compiler is not known yet: see
// docs/sdk-checks.md.

extension StoreProduct {
    /// The prices of a product's seats. Empty if the product is not sold in seats, and before iOS
    /// 27.3.
    static func seatTiers(of product: StoreKit.Product) -> [Perennial.SeatTier] {
        #if os(Linux) || compiler(>=6.5)
            guard #available(iOS 27.3, macOS 27.3, tvOS 27.3, watchOS 27.3, visionOS 27.3, *)
            else { return [] }
            guard product.supportsMultiSeatPurchase, let subscription = product.subscription
            else { return [] }
            for terms in subscription.pricingTerms {
                guard case .seatBased(let pricing) = terms.pricingModel else { continue }
                return pricing.priceTiers.map { tier in
                    Perennial.SeatTier(
                        from: tier.minimumSeats, through: tier.maximumSeats,
                        price: tier.billingInfo.price, displayPrice: tier.billingInfo.displayPrice)
                }
            }
        #endif
        return []
    }

    #if os(Linux) || compiler(>=6.3.2)
        /// Whether the terms are for several seats. A customer cannot pay for one seat with such
        /// terms.
        @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *)
        static func isOfSeats(_ terms: StoreKit.Product.SubscriptionInfo.PricingTerms) -> Bool {
            #if os(Linux) || compiler(>=6.5)
                if #available(iOS 27.3, macOS 27.3, tvOS 27.3, watchOS 27.3, visionOS 27.3, *),
                    case .seatBased = terms.pricingModel
                {
                    return true
                }
            #endif
            return false
        }
    #endif
}

extension StoreKit.Product.PurchaseOption {
    /// The purchase option for a total number of seats.
    ///
    /// - Throws: ``StoreError/seatsNotSold`` if this build does not know the option. Without the
    ///   option, the customer would buy one seat.
    static func total(_ seats: Int) throws(StoreError) -> Self {
        #if os(Linux) || compiler(>=6.5)
            return .seats(seats)
        #else
            throw StoreError.seatsNotSold
        #endif
    }
}

extension StoreError {
    /// StoreKit's error about seats. Nil if the error is not about seats.
    static func seats(_ error: StoreKit.Product.PurchaseError) -> Self? {
        #if os(Linux) || compiler(>=6.5)
            guard #available(iOS 27.3, macOS 27.3, tvOS 27.3, watchOS 27.3, visionOS 27.3, *)
            else { return nil }
            switch error {
            case .seatReductionNotAllowed: return .seatReduction
            case .multiSeatPurchaseDisabled: return .seatsNotSold
            default: return nil
            }
        #else
            return nil
        #endif
    }
}
