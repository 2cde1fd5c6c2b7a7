public import Foundation

extension Perennial.Offer {
    /// The offer and the price after it, such as "1 week free, then 9,99 € a month". Nil if the
    /// customer may not take the offer, or if this version does not know the offer's kind of
    /// payment.
    public func text(
        for product: Perennial.Product, locale: Locale = .current
    ) -> String? {
        text(before: product.displayPrice, every: product.period, Wording(locale: locale))
    }

    /// The text of an offer of a plan, followed by the price of one payment. Nil if the customer
    /// may not take the offer, or if this version does not know the offer's kind of payment.
    public func text(for plan: Perennial.Plan, locale: Locale = .current) -> String? {
        text(before: plan.displayPrice, every: plan.billingPeriod, Wording(locale: locale))
    }

    /// - Parameters:
    ///   - price: the price of one payment without the offer.
    ///   - period: the time between two payments. Nil for a product that is bought once.
    func text(
        before price: String, every period: Perennial.Period?, _ wording: Wording
    ) -> String? {
        guard isEligible else { return nil }
        guard let period else {
            return wording.text(.offerInstead, [.offer: displayPrice, .price: price])
        }
        let values: [TextKey.Placeholder: String] = [
            .length: wording.length(whole), .price: wording.price(price, every: period),
        ]
        switch paymentMode {
        case .freeTrial: return wording.text(.offerFree, values)
        case .payAsYouGo:
            let offer = wording.price(displayPrice, every: self.period)
            return wording.text(.offerPaid, values.merging([.offer: offer]) { $1 })
        case .payUpFront:
            return wording.text(.offerPaid, values.merging([.offer: displayPrice]) { $1 })
        default: return nil
        }
    }

    /// The whole length of the offer, over all its periods.
    private var whole: Perennial.Period {
        Perennial.Period(period.value * max(1, periodCount), period.unit)
    }
}
