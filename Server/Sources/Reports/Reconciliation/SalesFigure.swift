import Ledger

/// The sales of one product in one country on one day, as one side knows them.
package struct SalesFigure: Hashable, Sendable {
    /// The key by which figures of the two sides are compared.
    package struct Key: Hashable, Comparable, Sendable {
        /// The day of the sales, counted from 1970-01-01, in the time zone of the App Store's days.
        package var day: Int64
        package var product: ProductID
        /// The country of the store account: two letters, as in ISO 3166-1. Nil if no document
        /// contains it.
        package var country: String?
        /// The currency of the price.
        package var currency: String?

        package init(day: Int64, product: ProductID, country: String?, currency: String?) {
            self.day = day
            self.product = product
            self.country = country
            self.currency = currency
        }

        package static func < (one: Self, other: Self) -> Bool {
            if one.day != other.day { return one.day < other.day }
            if one.product != other.product { return one.product < other.product }
            return (one.country ?? "", one.currency ?? "")
                < (other.country ?? "", other.currency ?? "")
        }
    }

    package var key: Key
    /// The units sold, including free ones.
    package var units: Int64 = 0
    /// The amount that customers were charged, in thousandths of the currency's unit.
    package var gross: Int64 = 0
    package var refundedUnits: Int64 = 0
    package var refunded: Int64 = 0
    /// The seller's amount, in thousandths of the currency's unit. Nil if proceeds are in another
    /// currency than the price.
    package var proceeds: Int64? = 0
    /// Purchases that were shared with family members. Only our side counts them.
    package var sharedUnits: Int64 = 0
    /// The number of ``units`` that cost nothing.
    package var freeUnits: Int64 = 0

    package init(_ key: Key) { self.key = key }

    package mutating func add(_ other: Self) {
        units = units.addingSaturated(other.units)
        gross = gross.addingSaturated(other.gross)
        refundedUnits = refundedUnits.addingSaturated(other.refundedUnits)
        refunded = refunded.addingSaturated(other.refunded)
        sharedUnits = sharedUnits.addingSaturated(other.sharedUnits)
        freeUnits = freeUnits.addingSaturated(other.freeUnits)
        if let own = proceeds, let more = other.proceeds {
            proceeds = own.addingSaturated(more)
        } else {
            proceeds = nil
        }
    }
}
