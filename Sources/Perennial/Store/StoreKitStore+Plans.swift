internal import Foundation
internal import StoreKit

// Xcode 26.5 and later declare billing plans.

extension StoreProduct {
    /// The plans of a subscription. Empty before iOS 26.4, because StoreKit had no plans before.
    static func plans(
        of subscription: StoreKit.Product.SubscriptionInfo
    ) -> [Perennial.Plan] {
        #if os(Linux) || compiler(>=6.3.2)
            guard #available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *)
            else { return [] }
            return subscription.pricingTerms.filter { !isOfSeats($0) }.map { terms in
                Perennial.Plan(
                    kind: .init(rawValue: terms.billingPlanType.rawValue),
                    billingPrice: terms.billingPrice, displayPrice: terms.billingDisplayPrice,
                    billingPeriod: Perennial.Period(terms.billingPeriod),
                    totalDisplayPrice: terms.commitmentInfo.displayPrice,
                    totalPeriod: Perennial.Period(terms.commitmentInfo.period),
                    offers: offers(terms.subscriptionOffers))
            }
        #else
            return []
        #endif
    }

    #if os(Linux) || compiler(>=6.3.2)
        @available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *)
        private static func offers(
            _ offers: [StoreKit.Product.SubscriptionOffer]
        ) -> [Perennial.Offer] {
            offers.map { offer in
                let kind: Perennial.Offer.Kind =
                    switch offer.type {
                    case .introductory: .introductory
                    case .promotional: .promotional
                    default: .winBack
                    }
                return Perennial.Offer(offer, kind)
            }
        }
    #endif
}

extension StoreKit.Product.PurchaseOption {
    /// The purchase option for a plan.
    ///
    /// - Throws: ``StoreError/offerNotAccepted(_:)`` if StoreKit has no plans. Without the option
    ///   the customer would be charged a price other than the price that was shown.
    static func plan(_ kind: Perennial.Plan.Kind) throws(StoreError) -> Self {
        #if os(Linux) || compiler(>=6.3.2)
            if #available(iOS 26.4, macOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) {
                return .billingPlanType(.init(rawValue: kind.rawValue))
            }
        #endif
        throw StoreError.offerNotAccepted("plan")
    }

    /// The purchase option for a win-back offer, which is for customers who have left.
    ///
    /// - Throws: ``StoreError/offerNotAccepted(_:)`` if StoreKit does not list the offer. Without
    ///   the option the customer would be charged the full price.
    static func winBack(
        _ id: String, of product: StoreKit.Product
    ) throws(StoreError) -> Self {
        if #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) {
            let offers = product.subscription?.winBackOffers ?? []
            if let offer = offers.first(where: { $0.id == id }) { return .winBackOffer(offer) }
        }
        throw StoreError.offerNotAccepted("win-back")
    }
}
