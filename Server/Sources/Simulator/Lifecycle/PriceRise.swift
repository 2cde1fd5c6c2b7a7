import AppStoreFormats

/// A higher price for a product that somebody is subscribed to.
package struct PriceRise: Hashable, Sendable {
    package let productID: String
    /// Thousandths of the currency unit.
    package let price: Int64
    /// Renewals from here on cost it.
    package let from: AppStoreDate
    /// Without the customer's word the subscription ends.
    package let needsConsent: Bool
    package let told: AppStoreDate
    /// When the customer agreed.
    package internal(set) var agreed: AppStoreDate?
    /// It is the price: a period was charged at it, or something bought since.
    package internal(set) var isCharged = false

    /// Whether a renewal waits for the customer's word.
    var isPending: Bool { needsConsent && agreed == nil && !isCharged }

    var status: PriceIncreaseStatus { isPending ? .notAnswered : .agreed }
}

extension Subscription {
    /// The rise that is announced for the next product and not yet charged.
    var announcedRise: PriceRise? {
        guard let rise = priceRises.last, !rise.isCharged,
            rise.productID == sharedNextProduct.value.id
        else { return nil }
        return rise
    }

    /// The rise that a renewal from a moment on waits for.
    func pendingRise(at start: AppStoreDate) -> PriceRise? {
        guard let rise = announcedRise, rise.isPending, rise.from <= start else { return nil }
        return rise
    }

    /// The price of a product from a moment on, where it is not the shop's.
    func risenPrice(of productID: String, from start: AppStoreDate) -> Int64? {
        guard !priceRises.isEmpty else { return nil }
        return priceRises.last { rise in
            rise.productID == productID && rise.from <= start && !rise.isPending
        }?.price
    }

    /// Who buys again does so at today's price, and needs not be asked: a rise whose day has come
    /// is the price by now. One for a later day was announced to the periods that are over.
    mutating func forgetAnnouncements(at now: AppStoreDate) {
        priceRises.removeAll { !$0.isCharged && $0.from > now }
        for index in priceRises.indices where !priceRises[index].isCharged {
            priceRises[index].agreed = priceRises[index].agreed ?? now
            priceRises[index].isCharged = true
        }
    }

    mutating func noteCharge(of productID: String, from start: AppStoreDate) {
        for index in priceRises.indices
        where priceRises[index].productID == productID && priceRises[index].from <= start {
            priceRises[index].isCharged = true
        }
    }
}
