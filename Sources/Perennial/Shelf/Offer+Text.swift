public import Foundation

extension Perennial.Offer {
    /// The offer with what follows it, such as "1 week free, then 9,99 € a month". Nil if the
    /// customer may not take it, or if its kind of payment is not known to this version.
    public func text(
        for product: Perennial.Product, locale: Locale = .current
    ) -> String? {
        text(for: product, Wording(locale: locale))
    }

    func text(for product: Perennial.Product, _ wording: Wording) -> String? {
        guard isEligible else { return nil }
        guard let every = product.period else {
            return wording.text(
                .offerInstead, [.offer: displayPrice, .price: product.displayPrice])
        }
        let values: [TextKey.Placeholder: String] = [
            .length: wording.length(whole),
            .price: wording.price(product.displayPrice, every: every),
        ]
        switch paymentMode {
        case .freeTrial: return wording.text(.offerFree, values)
        case .payAsYouGo:
            let offer = wording.price(displayPrice, every: period)
            return wording.text(.offerPaid, values.merging([.offer: offer]) { $1 })
        case .payUpFront:
            return wording.text(.offerPaid, values.merging([.offer: displayPrice]) { $1 })
        default: return nil
        }
    }

    /// How long it lasts in all.
    private var whole: Perennial.Period {
        Perennial.Period(period.value * max(1, periodCount), period.unit)
    }
}
