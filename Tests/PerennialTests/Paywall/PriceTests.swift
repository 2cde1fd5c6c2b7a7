import Foundation
import Testing

@testable import Perennial

@Suite struct PriceTests {
    private func product(
        _ price: String, _ currency: String?, _ period: Perennial.Period?
    ) -> Perennial.Product {
        Perennial.Product(
            id: "pro", kind: .renewing, name: "Pro", price: Decimal(string: price) ?? 0,
            displayPrice: price, currencyCode: currency, period: period)
    }

    private func text(
        _ price: String, _ currency: String?, _ period: Perennial.Period?,
        per unit: Perennial.Period.Unit, in locale: String = "de_DE"
    ) -> String? {
        product(price, currency, period)
            .displayPrice(per: unit, locale: Locale(identifier: locale))?
            .replacing("\u{a0}", with: " ").replacing("\u{202f}", with: " ")
    }

    @Test func `the price per unit is rounded down to the currency's smallest unit`() {
        #expect(text("19.99", "EUR", .init(1, .year), per: .month) == "1,66 €")
        #expect(text("11.88", "EUR", .init(1, .year), per: .month) == "0,99 €")
        #expect(text("11.99", "EUR", .init(1, .year), per: .month) == "0,99 €")
        #expect(text("12.00", "EUR", .init(1, .year), per: .month) == "1,00 €")
        #expect(text("5.99", "EUR", .init(3, .month), per: .month) == "1,99 €")
        #expect(text("36.50", "EUR", .init(1, .year), per: .day) == "0,10 €")
        #expect(text("6.99", "EUR", .init(1, .week), per: .day) == "0,99 €")
        #expect(text("9.99", "EUR", .init(1, .month), per: .year) == "119,88 €")
        #expect(text("1000", "JPY", .init(1, .year), per: .month, in: "ja_JP") == "¥83")
        #expect(text("9.999", "KWD", .init(1, .year), per: .month, in: "en_US") == "KWD 0.833")
        #expect(text("19.99", "USD", .init(1, .year), per: .week, in: "en_US") == "$0.38")
    }

    @Test func `twelve times the price per month is never above the yearly price`() {
        for cents in 1...3_000 {
            let yearly = product("\(Decimal(cents) / 100)", "EUR", .init(1, .year))
            let monthly = yearly.price(per: .month, digits: 2) ?? -1
            #expect(monthly * 12 <= yearly.price && yearly.price < (monthly + 0.01) * 12)
        }
    }

    @Test func `without a period or a currency there is no price per unit`() {
        #expect(text("19.99", "EUR", nil, per: .month) == nil)
        #expect(text("19.99", nil, .init(1, .year), per: .month) == nil)
        #expect(text("19.99", "EUR", .init(0, .year), per: .month) == nil)
        #expect(text("19.99", "EUR", .init(1, .init(rawValue: "era")), per: .month) == nil)
    }

    private func offer(
        _ mode: Perennial.Offer.PaymentMode, _ displayPrice: String, _ period: Perennial.Period,
        times count: Int = 1
    ) -> Perennial.Offer {
        Perennial.Offer(
            id: nil, kind: .introductory, isEligible: true, paymentMode: mode, price: 0,
            displayPrice: displayPrice, period: period, periodCount: count)
    }

    @Test func `an offer states its price and the price that follows`() {
        let english = Locale(identifier: "en_US")
        func text(_ offer: Perennial.Offer) -> String? {
            offer.text(for: RageShop.monthly, locale: english)
        }
        #expect(text(RageShop.week) == "1 week free, then 9,99 € a month")
        #expect(
            text(offer(.payAsYouGo, "0,99 €", .init(1, .month), times: 3))
                == "0,99 € a month for 3 months, then 9,99 € a month")
        #expect(
            text(offer(.payUpFront, "4,99 €", .init(6, .month)))
                == "4,99 € for 6 months, then 9,99 € a month")
        #expect(
            offer(.payUpFront, "0,49 €", .init(1, .month)).text(
                for: RageShop.faces, locale: english) == "0,49 € instead of 0,99 €")
        #expect(text(offer(.init(rawValue: "barter"), "", .init(1, .week))) == nil)
        var refused = RageShop.week
        refused.isEligible = false
        #expect(text(refused) == nil)
    }
}
