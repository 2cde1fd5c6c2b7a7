/// The position of a month within the months that the customer has committed to pay.
package struct Commitment: Hashable, Sendable {
    /// The number of the month within the commitment, counted from 1.
    package var month: Int
    package var months: Int
    /// When the commitment ends.
    package var until: Instant?
    /// The price of all months together.
    package var price: Money?

    package init(month: Int, months: Int, until: Instant? = nil, price: Money? = nil) {
        self.month = month
        self.months = months
        self.until = until
        self.price = price
    }
}
