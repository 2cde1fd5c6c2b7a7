import Ledger

/// The properties of one transaction by which a report can be divided.
package struct Segment: Hashable, Sendable {
    package var product: ProductID
    /// The subscription group. Nil for one-time purchases, and if no document contains the group.
    package var group: String?
    /// The country of the store account: three letters, as in ISO 3166-1.
    package var storefront: String?
    package var offer: Offer?
    /// The price of one period, or of all units of a one-time purchase. Nil if no document contains
    /// it.
    package var price: Money?

    package init(
        product: ProductID, group: String? = nil, storefront: String? = nil, offer: Offer? = nil,
        price: Money? = nil
    ) {
        self.product = product
        self.group = group
        self.storefront = storefront
        self.offer = offer
        self.price = price
    }

    init(of payment: Payment) {
        self.init(
            product: payment.product, group: payment.group, storefront: payment.storefront,
            offer: payment.offer, price: payment.price)
    }
}
