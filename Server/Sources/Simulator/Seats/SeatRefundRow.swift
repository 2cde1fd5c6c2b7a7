import AppStoreFormats

/// A row of a sales report that a refund of single seats changes. How Apple reports such refunds is
/// unknown.
package struct SeatRefundRow: Hashable, Sendable {
    package let productID: String
    /// The country's code in ISO 3166-1 alpha-2.
    package let country: String
    /// The day in UTC, counted from 1970.
    package let day: Int64

    package init(productID: String, country: String, day: Int64) {
        (self.productID, self.country, self.day) = (productID, country, day)
    }
}

extension AppStoreSimulator {
    /// The rows that refunds of single seats change: the rows of the day of the sale, of the day of
    /// each refund, and of the day of its reversal.
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
