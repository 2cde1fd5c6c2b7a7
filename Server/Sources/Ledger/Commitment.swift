/// Where a month stands within months that the customer has promised to pay.
package struct Commitment: Hashable, Sendable {
    /// From 1.
    package var month: Int
    package var months: Int
    /// When the promise ends.
    package var until: Instant?
    /// Of all months together.
    package var price: Money?

    package init(month: Int, months: Int, until: Instant? = nil, price: Money? = nil) {
        self.month = month
        self.months = months
        self.until = until
        self.price = price
    }
}
