import AppStoreFormats

/// A row of a sales report that a refund of single seats changes. How Apple reports such refunds is
/// unknown.
package struct SeatRefundRow: Hashable, Sendable {
    package let productID: String
    /// Two letters.
    package let country: String
    /// Counted from 1970, in UTC.
    package let day: Int64

    package init(productID: String, country: String, day: Int64) {
        (self.productID, self.country, self.day) = (productID, country, day)
    }
}

extension AppStoreSimulator {
    /// The rows of all days of which single seats were refunded: of their sale, their refund, and
    /// of its reversal.
    package var seatRefundRows: Set<SeatRefundRow> {
        var rows: Set<SeatRefundRow> = []
        for charge in TrueBooks(world).purchaseHistories.flatMap(\.charges)
        where charge.refunds.contains(where: \.isOfSeats) {
            let moments =
                [charge.at, charge.transaction.purchased] + charge.refunds.map(\.at)
                + charge.refunds.compactMap(\.reversed)
            for moment in moments {
                let day = moment.milliseconds.flooredDivision(by: RFC3339.millisecondsPerDay)
                rows.insert(
                    SeatRefundRow(
                        productID: charge.transaction.product.id,
                        country: charge.transaction.storefront.twoLetterCountry, day: day))
            }
        }
        return rows
    }
}
