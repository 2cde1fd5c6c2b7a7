import AppStoreFormats
import Testing

@testable import Simulator

/// The rows of sales reports, and the developer's proceeds.
@Suite struct SalesReportSalesTests {
    @Test func `the sales report of a day has the purchases and renewals of that day`() async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        try await stage.advance("P1M")
        let first = try await stage.sale("2026-01-10")
        #expect(first.sku == "pro.monthly" && first.title == "Birds Pro, monthly")
        #expect(first.units == 1 && first.customerPrice == 9990)
        #expect(first.developerProceeds == 6993 && first.proceeds == 6993)
        #expect(first.customerCurrency == "USD" && first.proceedsCurrency == "USD")
        #expect(first.countryCode == "US" && first.productType == .autoRenewable)
        #expect(
            first.subscription == .new && first.period == SalesReportDuration(rawValue: "1 Month"))
        #expect(first.parentIdentifier == ExampleShop.bundleID && first.promoCode.isEmpty)
        #expect(first.begin == (try CivilDate(test: "2026-01-10")) && first.end == first.begin)
        let second = try await stage.sale("2026-02-10")
        #expect(second.subscription == .renewal && second.appleID == first.appleID)
        #expect(try await stage.sales("2026-01-11").isEmpty)
    }

    @Test func `units of several purchases of one product are added up`() async throws {
        let stage = try Stage()
        try await stage.buy("seeds.100")
        _ = try await stage.simulator.purchase(
            PurchaseOrder("seeds.100", quantity: 3), on: "anna-1")
        try await stage.simulator.addDevice(account: "ben")
        try await stage.buy("season.spring", on: "ben-1")
        let rows = try await stage.sales("2026-01-10").sorted { $0.sku < $1.sku }
        #expect(rows.map(\.sku) == ["season.spring", "seeds.100"])
        #expect(rows.map(\.units) == [1, 4] && rows.map(\.customerPrice) == [14_990, 1990])
        #expect(rows.map(\.productType) == [.nonRenewing, .inAppPurchase])
        #expect(rows.allSatisfy { $0.subscription == nil && $0.period == nil })
    }

    @Test func `a refund has negative units, a negative price and positive proceeds`() async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.advance("P3D")
        try await stage.simulator.change(id, .refund())
        let row = try await stage.sale("2026-01-13")
        #expect(row.units == -1 && row.customerPrice == -9990 && row.developerProceeds == 6993)
        #expect(row.isRefund && !row.isPartialRefund && row.proceeds == -6993)
        #expect(try await stage.sale("2026-01-10").units == 1)
    }

    @Test func `refunded free seats and sold free seats have separate rows`()
        async throws
    {
        let stage = try Stage { settings in
            let tiers = SeatPrices.Tiers(everywhere: [.init(from: 6, price: 0)])
            settings.rules.seats.set(tiers, of: "pro.monthly")
        }
        let id = try await stage.order(8).originalTransactionID
        try await stage.advance("P3D")
        try await stage.simulator.change(id, .refund())
        try await stage.addAccounts(["ben"])
        _ = try await stage.simulator.purchase(PurchaseOrder("pro.monthly", seats: 7), on: "ben-1")
        let rows = try await stage.sales("2026-01-13")
        #expect(rows.map(\.units).sorted() == [-5, -3, 2, 5])
        #expect(rows.filter { $0.customerPrice == 0 }.map(\.units).sorted() == [-3, 2])
    }

    @Test func `a partial refund has no units, and deducts its part of the proceeds`() async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.advance("P1D")
        try await stage.simulator.change(id, .refund(RefundOrder(.prorated(33_333))))
        let row = try await stage.sale("2026-01-11")
        // 9.990 × 33.333 % = 3.329967; of the 6.661 that are left, the developer gets 4.663.
        #expect(row.units == 0 && row.customerPrice == -3329)
        #expect(row.isPartialRefund && row.developerProceeds == 6993 - 4663)
    }

    @Test func `an upgrade refunds a part of the old product and sells the new one`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.advance("P15D")
        try await stage.simulator.change(id, .changeProduct("premium.monthly"))
        let rows = try await stage.sales("2026-01-25").sorted { $0.sku < $1.sku }
        #expect(rows.map(\.sku) == ["premium.monthly", "pro.monthly"])
        #expect(rows[0].units == 1 && rows[0].customerPrice == 19_990)
        #expect(rows[1].isPartialRefund && rows[1].customerPrice == -9990 * 16 / 31)
    }

    @Test func `a reversed refund is reported first as a refund and later as a sale`() async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("guide").transactionID
        try await stage.advance("P1D")
        try await stage.simulator.change(transaction: id, .refund())
        try await stage.advance("P1D")
        try await stage.simulator.change(transaction: id, .reverseRefund)
        #expect(try await stage.sale("2026-01-10").units == 1)
        #expect(try await stage.sale("2026-01-11").units == -1)
        #expect(try await stage.sale("2026-01-12").units == 1)
    }

    @Test func `a free trial is a unit without a price, and names its offer`() async throws {
        let stage = try Stage()
        try await stage.buy("pro.yearly")
        try await stage.advance("P1W")
        let trial = try await stage.sale("2026-01-10")
        #expect(trial.units == 1 && trial.customerPrice == 0 && trial.developerProceeds == 0)
        #expect(trial.promoCode == "FREE" && trial.orderType?.discount == .freeTrial)
        #expect(trial.orderType?.type == .introductory)
        let paid = try await stage.sale("2026-01-17")
        #expect(paid.customerPrice == 59_990 && paid.orderType == nil && paid.promoCode.isEmpty)
    }

    @Test func `a purchase through the Advanced Commerce API names its items`() async throws {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let id = try await stage.truth().originalTransactionID
        let change = AdvancedCommerceChange(.migration, skus: ["item.a", "item.b"])
        try await stage.simulator.change(id, .advancedCommerce(change))
        try await stage.advance("P35D")
        let row = try await stage.sale("2026-02-10")
        #expect(row.sku == "'item.a','item.b'" && row.title.hasPrefix("'"))
        #expect(row.units == 1 && row.customerPrice == 9_990)
    }

    @Test
    func `Advanced Commerce items belong to the paid product, not to the next planned product`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let id = try await stage.truth().originalTransactionID
        try await stage.simulator.change(id, .changeProduct("plus.monthly"))
        try await stage.simulator.change(
            id, .advancedCommerce(AdvancedCommerceChange(.migration)))
        #expect(try await stage.sale("2026-01-10").sku == "'pro.monthly'")
    }

    @Test func `a new product is sold without the items of the previous one`() async throws {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        let id = try await stage.truth().originalTransactionID
        let change = AdvancedCommerceChange(.migration, skus: ["item.a"])
        try await stage.simulator.change(id, .advancedCommerce(change))
        try await stage.simulator.change(id, .changeProduct("plus.monthly"))
        try await stage.advance("P35D")
        #expect(try await stage.sale("2026-02-10").sku == "plus.monthly")
    }

    @Test func `sandbox purchases and shared purchases of family members are not in a report`()
        async throws
    {
        let stage = try Stage()
        for (name, environment) in [
            ("anna", SimulatedEnvironment.production), ("ben", .production), ("cleo", .sandbox),
        ] {
            try await stage.simulator.addDevice(
                account: name, environment: environment, family: "cats")
        }
        try await stage.buy("guide", on: "anna-1")
        try await stage.buy("pro.yearly", offer: "none", on: "anna-1")
        try await stage.buy("guide", on: "cleo-1")
        try await stage.buy("pro.monthly", on: "cleo-1")
        let shared = try await stage.simulator.groundTruth(of: "ben").purchases
        #expect(shared.count == 2)
        let rows = try await stage.sales("2026-01-10")
        #expect(rows.map(\.units) == [1, 1] && Set(rows.map(\.sku)) == ["guide", "pro.yearly"])
        #expect(try await stage.subscriptions("2026-01-10").count == 1)
        #expect(try await stage.events("2026-01-10") == ["Subscribe of Birds Pro, yearly"])
    }

    @Test func `a payment in the grace period is a sale of the day on which it succeeds`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.change(id, .failBilling)
        try await stage.advance("P1M")
        try await stage.advance("P5D")
        try await stage.simulator.change(id, .recoverBilling)
        try await stage.advance("P1M")
        #expect(try await stage.sales("2026-02-10").isEmpty)
        #expect(try await stage.sale("2026-02-15").units == 1)
        #expect(try await stage.sale("2026-03-10").units == 1)
    }

    @Test
    func `a recovery in grace is not a sale of a period that was refunded before it began`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.advance("P1M")
        // The next period is charged early and then replaced: the new product's period ends when
        // the replaced period would begin.
        try await stage.simulator.change(id, .renewNow)
        try await stage.simulator.change(id, .changeProduct("premium.monthly"))
        try await stage.simulator.change(id, .failBilling)
        try await stage.advance("P1M")
        try await stage.advance("P5D")
        try await stage.simulator.change(id, .recoverBilling)
        try await stage.advance("P1D")
        #expect(Set(try await stage.sales("2026-03-10").map(\.sku)) == ["pro.monthly"])
        #expect(try await stage.sale("2026-03-15").sku == "premium.monthly")
    }

    @Test(arguments: [
        ("America/Los_Angeles", "2026-01-10"), ("UTC", "2026-01-11"), ("Asia/Tokyo", "2026-01-11"),
    ])
    func `a day begins in the time zone of the agreement`(zone: String, day: String) async throws {
        let stage = try Stage(now: "2026-01-11T07:59:59.999Z") { $0.reports.timeZone = zone }
        try await stage.buy("guide")
        #expect(try await stage.sale(day).units == 1)
    }

    @Test func `if clocks change on a day, the day has 23 or 25 hours`() throws {
        let calendar = ReportRules().calendar
        for (day, hours) in [("2026-03-08", 23), ("2026-11-01", 25), ("2026-03-09", 24)] {
            let day = try CivilDate(test: day)
            let span = calendar.span(from: day, to: day)
            let length = span.upperBound.milliseconds - span.lowerBound.milliseconds
            #expect(length == Int64(hours) * 3_600_000)
            #expect(calendar.day(of: span.lowerBound) == day)
        }
    }

    // MARK: - Proceeds

    @Test(arguments: [
        // The columns: price, tax in thousandths of a percent, whether Apple's share is reduced,
        // proceeds.
        (9990, 0, false, 6993), (9990, 0, true, 8492), (9990, 19_000, false, 5877),
        (9990, 19_000, true, 7136), (9990, 8100, false, 6470), (1, 0, false, 1),
        (0, 19_000, false, 0),
        (999_999_999_999, 25_000, false, 560_000_000_000),
    ])
    func `tax is taken out first, then Apple's share, and each is rounded down`(
        price: Int64, tax: Int64, isReduced: Bool, proceeds: Int64
    ) {
        var rules = ReportRules()
        rules.taxes["DEU"] = tax
        let germany = Storefront(country: "DEU", id: "143443", currency: "EUR")
        let now = SimulatorSettings.defaultNow
        #expect(rules.proceeds(of: price, in: germany, isReduced: isReduced, at: now) == proceeds)
        let none = rules.proceeds(of: price, in: .unitedStates, isReduced: isReduced, at: now)
        #expect(none == price - price * (isReduced ? 15 : 30) / 100)
    }

    @Test(arguments: [false, true])
    func `after a year of paid service, the developer gets the higher share`(isSmallBusiness: Bool)
        async throws
    {
        let stage = try Stage { $0.reports.isSmallBusiness = isSmallBusiness }
        try await stage.buy("pro.monthly")
        try await stage.advance("P13M")
        let last = try await stage.sale("2026-12-10")
        let year = try await stage.sale("2027-01-10")
        #expect(last.proceedsReason == nil)
        #expect(last.developerProceeds == (isSmallBusiness ? 8492 : 6993))
        #expect(year.proceedsReason == (isSmallBusiness ? nil : .rateAfterOneYear))
        #expect(year.developerProceeds == 8492)
    }

    @Test(arguments: [(60, true), (61, false)])
    func `a gap of more than sixty days resets the year of paid service`(
        days: Int, isReduced: Bool
    ) async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.yearly", offer: "none").originalTransactionID
        try await stage.simulator.change(id, .cancel)
        try await stage.advance("P1Y")
        try await stage.advance("P\(days)D")
        try await stage.buy("pro.monthly")
        let day = await stage.books().calendar.day(of: stage.simulator.clock.now)
        let row = try await stage.sale(day.isoText)
        #expect(row.proceedsReason == (isReduced ? .rateAfterOneYear : nil))
    }

    @Test func `free periods and replaced periods do not count as paid service`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.yearly").originalTransactionID
        try await stage.advance("P1W")
        try await stage.advance("P30D")
        try await stage.simulator.change(id, .changeProduct("premium.monthly"))
        try await stage.advance("P11M")
        // 30 days of the yearly product, and eleven months: a day less than a year.
        let early = try await stage.sale("2027-01-16")
        try await stage.advance("P1M")
        let late = try await stage.sale("2027-02-16")
        #expect(early.proceedsReason == nil && late.proceedsReason == .rateAfterOneYear)
    }
}
