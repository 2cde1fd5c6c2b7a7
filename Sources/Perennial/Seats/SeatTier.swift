public import Foundation

extension Perennial {
    /// A range of seats that have the same price. A seat costs the price of the range that contains
    /// the seat's number. So buying more seats does not make the earlier seats cheaper.
    public struct SeatTier: Hashable, Sendable {
        /// The number of the range's first seat, from 1.
        public var from: Int
        /// The number of the range's last seat. Nil if there is no limit.
        public var through: Int?
        /// The price of one seat.
        public var price: Decimal
        /// The price of one seat as the store writes it.
        public var displayPrice: String

        public init(from: Int = 1, through: Int? = nil, price: Decimal, displayPrice: String) {
            self.from = from
            self.through = through
            self.price = price
            self.displayPrice = displayPrice
        }

        /// The number of this range's seats among the first `seats` seats.
        fileprivate func count(among seats: Int) -> Int {
            guard from >= 1, seats >= from else { return 0 }
            return max(0, min(seats, through ?? seats) - (from - 1))
        }
    }
}

extension Perennial.Product {
    /// Whether the product can be bought for several people.
    public var isSoldInSeats: Bool { !seatTiers.isEmpty }

    /// The price of a number of seats for one period: the exact sum over ``seatTiers``. Adding 4
    /// seats to 8 seats costs `price(of: 12) - price(of: 8)`.
    ///
    /// Nil if the product is not sold with that number of seats, or if the number is less than one.
    public func price(of seats: Int) -> Decimal? {
        guard seats >= 1 else { return nil }
        var (sum, counted) = (Decimal(), 0)
        for tier in seatTiers {
            let count = tier.count(among: seats)
            // Overlapping tiers have no defined price.
            guard count <= seats - counted else { return nil }
            counted += count
            sum += tier.price * Decimal(count)
        }
        return counted == seats ? sum : nil
    }

    /// The price of a number of seats for one period, as text.
    ///
    /// Nil in the cases in which ``price(of:)`` is nil, and if the currency is unknown.
    /// - Parameter locale: how to write the price. A product from the store uses the store's
    ///   format.
    public func displayPrice(of seats: Int, locale: Locale = .current) -> String? {
        guard let currencyCode, let price = price(of: seats) else { return nil }
        return price.formatted(priceStyle(currencyCode, locale))
    }
}
