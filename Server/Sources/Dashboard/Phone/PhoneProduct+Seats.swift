import PerennialContract

extension PhoneProduct {
    /// A price, and the number of the first seat that has this price.
    package struct SeatTier: Hashable, Sendable {
        /// The number of the first seat of this tier. The first tier begins with 1.
        package var from: Int
        /// The price of one seat, in thousandths of the currency's unit.
        package var milliunits: Int64

        package init(from: Int, milliunits: Int64) {
            self.from = from
            self.milliunits = milliunits
        }
    }

    /// Whether several people can use one subscription to the product.
    var isSoldInSeats: Bool { !seatTiers.isEmpty }

    /// For each price, the number of seats in the range that have it.
    private func lines(of seats: Range<Int>) -> [(count: Int, milliunits: Int64)] {
        seatTiers.indices.compactMap { place in
            let end = place + 1 < seatTiers.count ? seatTiers[place + 1].from : Int.max
            let count = seats.clamped(to: seatTiers[place].from..<end).count
            return count > 0 ? (count, seatTiers[place].milliunits) : nil
        }
    }

    /// The total price of the seats in a range of seat numbers. The first seat of a subscription
    /// has the number 1.
    func cost(of seats: Range<Int>) -> Money {
        let sum = lines(of: seats).reduce(0) { $0 + Int64($1.count) * $1.milliunits }
        return Money(milliunits: sum, currency: currency)
    }

    /// The seats by price, such as `5 × $9.99 and 2 × $7.99`.
    func breakdown(of seats: Range<Int>) -> String {
        lines(of: seats).map { line in
            let price = Figures.money(Money(milliunits: line.milliunits, currency: currency))
            return "\(line.count) × \(price)"
        }.joined(separator: " and ")
    }
}
