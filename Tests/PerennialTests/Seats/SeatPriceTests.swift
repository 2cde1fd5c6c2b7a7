import Foundation
import Testing

@testable import Perennial

@Suite struct SeatPriceTests {
    private func product(_ tiers: [(from: Int, through: Int?, price: String)]) -> Perennial.Product
    {
        Perennial.Product(
            id: "pro", kind: .renewing, name: "Pro", price: 19.99, displayPrice: "$19.99",
            currencyCode: "USD", period: .init(1, .month),
            seatTiers: tiers.map {
                Perennial.SeatTier(
                    from: $0.from, through: $0.through, price: Decimal(string: $0.price) ?? 0,
                    displayPrice: "$\($0.price)")
            })
    }

    private var volume: Perennial.Product {
        product([(1, 20, "19.99"), (21, 40, "13.99"), (41, nil, "10.99")])
    }

    @Test func `seats cost the exact sum of their tiers`() {
        let rows: [(Int, String?)] = [
            (0, nil), (-1, nil), (1, "19.99"), (20, "399.80"), (21, "413.79"), (40, "679.60"),
            (41, "690.59"), (50, "789.50"), (1_000_000, "10990240"), (.min, nil),
        ]
        for (seats, price) in rows {
            #expect(volume.price(of: seats) == price.flatMap { Decimal(string: $0) }, "\(seats)")
        }
        let few = product([(1, 5, "9.99"), (6, nil, "7.99")])
        #expect(few.price(of: 7) == Decimal(string: "65.93"))
        #expect(few.price(of: 8) == Decimal(string: "73.92"))
        // The difference is the price of the seats that are added to five seats.
        #expect(few.price(of: 8)! - few.price(of: 5)! == Decimal(string: "23.97"))
        #expect(product([(1, nil, "0.1")]).price(of: 3) == Decimal(string: "0.3"))
    }

    @Test func `an additional seat costs the price of the tier that it falls into`() throws {
        for seats in 1..<60 {
            let (one, next) = (volume.price(of: seats), volume.price(of: seats + 1))
            let tier = try #require(
                volume.seatTiers.last { $0.from <= seats + 1 && ($0.through ?? .max) > seats })
            #expect(try #require(next) - #require(one) == tier.price, "\(seats)")
        }
    }

    @Test func `a number of seats outside the product's price tiers has no price`() {
        #expect(!product([]).isSoldInSeats)
        #expect(product([]).price(of: 1) == nil)
        #expect(product([(1, 5, "9.99")]).price(of: 5) != nil)
        #expect(product([(1, 5, "9.99")]).price(of: 6) == nil)
        #expect(product([(2, nil, "9.99")]).price(of: 3) == nil, "A gap.")
        #expect(product([(1, 5, "9.99"), (4, nil, "7.99")]).price(of: 8) == nil, "An overlap.")
        let twice = product([(1, nil, "9.99"), (1, nil, "7.99")])
        #expect(twice.price(of: .max) == nil)
        #expect(product([(.min, nil, "9.99")]).price(of: 3) == nil)
        #expect(product([(1, .max, "9.99")]).price(of: .max) != nil)
    }

    @Test func `the sum of seat prices is written like the store's prices`() {
        func text(_ seats: Int, _ locale: String) -> String? {
            volume.displayPrice(of: seats, locale: Locale(identifier: locale))?
                .replacing("\u{a0}", with: " ")
        }
        #expect(text(50, "en_US") == "$789.50")
        #expect(text(50, "de_DE") == "789,50 $")
        #expect(text(0, "en_US") == nil)
        var unknown = volume
        unknown.currencyCode = nil
        #expect(unknown.displayPrice(of: 50) == nil)
    }
}
