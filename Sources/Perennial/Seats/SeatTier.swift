public import Foundation

extension Perennial {
    /// A range of seats that cost the same. A seat costs the price of the range that its number is
    /// in: more seats make the earlier ones no cheaper.
    public struct SeatTier: Hashable, Sendable {
        /// The number of the range's first seat, from 1.
        public var from: Int
        /// The number of its last seat. Nil if there is no limit.
        public var through: Int?
        /// What one seat costs.
        public var price: Decimal
        /// The same as text, as the store writes it.
        public var displayPrice: String

        public init(from: Int = 1, through: Int? = nil, price: Decimal, displayPrice: String) {
            self.from = from
            self.through = through
            self.price = price
            self.displayPrice = displayPrice
        }

        /// How many of the first seats are in the range.
        fileprivate func count(among seats: Int) -> Int {
            guard from >= 1, seats >= from else { return 0 }
            return max(0, min(seats, through ?? seats) - (from - 1))
        }
    }
}

extension Perennial.Product {
    /// Whether it can be bought for several people.
    public var isSoldInSeats: Bool { !seatTiers.isEmpty }

    /// What a number of seats costs for one period: the exact sum over ``seatTiers``. The seats
    /// that are added to 8 for a total of 12 cost `price(of: 12) - price(of: 8)`.
    ///
    /// Nil if it is not sold in so many seats, and for less than one.
    public func price(of seats: Int) -> Decimal? {
        guard seats >= 1 else { return nil }
        var (sum, counted) = (Decimal(), 0)
        for tier in seatTiers {
            let count = tier.count(among: seats)
            // Tiers that overlap say nothing.
            guard count <= seats - counted else { return nil }
            counted += count
            sum += tier.price * Decimal(count)
        }
        return counted == seats ? sum : nil
    }

    /// What a number of seats costs for one period, as text.
    ///
    /// Nil as ``price(of:)``, and if the currency is not known.
    /// - Parameter locale: how to write it. The store's own way if the product came from the store.
    public func displayPrice(of seats: Int, locale: Locale = .current) -> String? {
        guard let currencyCode, let price = price(of: seats) else { return nil }
        return price.formatted(priceStyle(currencyCode, locale))
    }
}
