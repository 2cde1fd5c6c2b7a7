import AppStoreFormats

/// A higher price for a product that a customer is subscribed to.
package struct PriceRise: Hashable, Sendable {
    package let productID: String
    /// The new price, in thousandths of the currency unit.
    package let price: Int64
    /// The moment from which renewals cost the new price.
    package let from: AppStoreDate
    /// Whether the subscription ends unless the customer agrees.
    package let needsConsent: Bool
    package let announced: AppStoreDate
    /// When the customer agreed. Nil if the customer has not agreed.
    package internal(set) var agreed: AppStoreDate?
    /// Whether the new price is in effect: a period was charged at the new price, or the customer
    /// has bought again since.
    package internal(set) var isCharged = false

    /// Whether a renewal waits for the customer's consent.
    var isPending: Bool { needsConsent && agreed == nil && !isCharged }

    var status: PriceIncreaseStatus { isPending ? .notAnswered : .agreed }
}

extension Subscription {
    /// The rise that was announced for the next product and is not yet charged.
    var announcedRise: PriceRise? {
        guard let rise = priceRises.last, !rise.isCharged,
            rise.productID == boxedNextProduct.value.id
        else { return nil }
        return rise
    }

    /// The price rise to which the customer must still agree before a renewal that begins at a
    /// moment or later.
    func pendingRise(at start: AppStoreDate) -> PriceRise? {
        guard let rise = announcedRise, rise.isPending, rise.from <= start else { return nil }
        return rise
    }

    /// The price of a product from a moment on after a price rise. Nil if the shop's price applies.
    func risenPrice(of productID: String, from start: AppStoreDate) -> Int64? {
        guard !priceRises.isEmpty else { return nil }
        return priceRises.last { rise in
            rise.productID == productID && rise.from <= start && !rise.isPending
        }?.price
    }

    /// Updates the rises after a manual purchase. A customer who buys again does so at today's
    /// price and needs no further consent. A rise whose day has come is now the price. A rise of a
    /// later day is removed, because it was announced for periods that are over.
    mutating func resolveRisesAtPurchase(at now: AppStoreDate) {
        priceRises.removeAll { !$0.isCharged && $0.from > now }
        for index in priceRises.indices where !priceRises[index].isCharged {
            priceRises[index].agreed = priceRises[index].agreed ?? now
            priceRises[index].isCharged = true
        }
    }

    mutating func markCharged(of productID: String, from start: AppStoreDate) {
        for index in priceRises.indices
        where priceRises[index].productID == productID && priceRises[index].from <= start {
            priceRises[index].isCharged = true
        }
    }
}
