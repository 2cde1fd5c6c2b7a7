import AppStoreFormats
import Testing

@testable import Simulator

/// A shop's file: its settings, its lint findings, its prices and storefronts.
@Suite struct ShopTests {
    private func lint(_ text: String) throws -> [String] {
        ShopLint(try JSON(parsing: text.utf8)).findings.map(\.description)
    }

    private static func product(_ members: String) -> String {
        """
        {"products": [{"productID": "a", "type": "Consumable", "displayPrice": "1", \(members)}]}
        """
    }

    private static func subscription(_ members: String, id: String = "s") -> String {
        """
        {"productID": "\(id)", "displayPrice": "1.00", "groupNumber": 1,
         "recurringSubscriptionPeriod": "P1M", \(members)}
        """
    }

    private static func group(_ subscriptions: String...) -> String {
        let list = subscriptions.joined(separator: ",")
        return #"{"subscriptionGroups": [{"id": "g", "subscriptions": [\#(list)]}]}"#
    }

    private static func introductory(_ members: String) -> String {
        group(subscription(#""introductoryOffer": {\#(members)}"#))
    }

    /// Each row: a file with exactly one finding.
    static let odd: [(String, String)] = [
        (product(#""displayPrice": "0,99""#), "product a: displayPrice is \"0,99\""),
        (product(#""type": "RecurringSubscription""#), "product a: a recurring subscription"),
        (product(#""type": "Bundle""#), "product a: the type Bundle"),
        (product(#""productID": "a b""#), "product a b: the id may have"),
        (product(#""familyShareable": true"#), "product a: Family Sharing"),
        (group(subscription("\"x\": 1"), subscription("\"y\": 1")), "product s: occurs twice"),
        (
            group(subscription(#""recurringSubscriptionPeriod": "month""#)),
            "product s: recurringSubscriptionPeriod is \"month\""
        ),
        (
            group(subscription(#""recurringSubscriptionPeriod": "P5M""#)),
            "product s: no subscription renews every P5M"
        ),
        (
            group(subscription("\"x\": 1"), subscription(#""groupNumber": 3"#, id: "t")),
            "group g: groupNumber is 1, 3"
        ),
        (
            group(subscription(#""subscriptionGroupID": "h""#)),
            "product s: names the group h but is in g"
        ),
        (
            introductory(#""paymentMode": "later", "subscriptionPeriod": "P1M""#),
            "an offer of product s: the payment mode later"
        ),
        (
            introductory(#""paymentMode": "free", "subscriptionPeriod": "P5D""#),
            "the introductory offer of product s: no free trial lasts 1 × P5D"
        ),
        (
            introductory(
                #""paymentMode": "payUpFront", "subscriptionPeriod": "P1W", "displayPrice": "1""#),
            "the introductory offer of product s: no payment up front is for 1 × P1W"
        ),
        (
            introductory(
                #""paymentMode": "payAsYouGo", "subscriptionPeriod": "P1W", "displayPrice": "1""#),
            "the introductory offer of product s: pay as you go is for periods of P1M"
        ),
        (
            introductory(#""paymentMode": "payAsYouGo", "subscriptionPeriod": "P1M""#),
            "an offer of product s: displayPrice is \"\""
        ),
        (
            group(
                subscription(
                    #""codeOffers": [{"referenceName": "C", "eligibility": [], "paymentMode":"#
                        + #" "free", "subscriptionPeriod": "P1M"}]"#)),
            "the offer C of product s: eligibility is empty"
        ),
        (
            group(
                subscription(
                    #""adHocOffers": [{"paymentMode": "free", "subscriptionPeriod": "P1M"}]"#)),
            "the introductory offer of product s: has no id"
        ),
        (
            group(
                subscription(
                    #""billingPlans": [{"billingPlanType": "MONTHLY", "displayPrice": "1"}]"#)),
            "product s: only a yearly subscription has a monthly plan"
        ),
        (#"{"settings": {"_storefront": "ATL"}}"#, "settings: there is no storefront ATL"),
        (#"{"settings": {"_timeRate": 77}}"#, "settings: the time rate 77"),
        (
            #"{"subscriptionOffersKeyPair": {"id": "K", "privateKey": "REDACTED"}}"#,
            "subscriptionOffersKeyPair: the private key cannot be read"
        ),
        (#"{"subscriptionSuiteGroups": [{}]}"#, "subscriptionSuiteGroups: is ignored"),
        (#"{"version": {"major": 7}}"#, "the file: version 7"),
    ]

    @Test(arguments: odd)
    func `if Xcode would refuse a shop's file, each mistake is reported with its place`(
        file: String, finding: String
    ) throws {
        let findings = try lint(file)
        #expect(findings.count == 1, "\(findings)")
        #expect(findings.first?.hasPrefix(finding) == true, "\(findings)")
    }

    @Test func `a valid shop has no findings, and an invalid shop gets all findings at once`()
        throws
    {
        #expect(try lint(CatShop.text()) == [])
        #expect(try lint(ExampleShop.storeKitText) == [])
        let bad = """
            {"products": [{"productID": "a", "type": "Consumable", "displayPrice": "x"},
             {"productID": "b", "type": "Consumable", "displayPrice": "y"}, {}]}
            """
        let findings = ShopLint(try JSON(parsing: bad.utf8)).findings
        #expect(findings.map(\.place) == ["product a", "product b", "a product"])
        #expect(findings.allSatisfy { $0.isFatal })
    }

    @Test func `the settings in a shop's file are applied, and other settings stay`() throws {
        let text = """
            {"_storefront": "GBR", "_timeRate": 1003, "_askToBuyEnabled": true,
             "_billingGracePeriodEnabled": false, "_renewalBillingIssuesEnabled": true,
             "_billingIssuesEnabled": true, "_failTransactionsEnabled": false,
             "_storeKitErrors": [{"name": "Purchase", "enabled": true, "current": null}]}
            """
        let settings = SimulatorSettings(shop: try CatShop.file(settings: text))
        #expect(settings.graceDays == 0 && settings.sandboxPace == .every(30_000))
        let rules = settings.rules
        #expect(rules.asksToBuy && rules.interruptsPurchases && rules.renewalsFail)
        #expect(rules.failsPurchases)
        let plain = SimulatorSettings(shop: try CatShop.file())
        #expect(plain.graceDays == 16 && plain.sandboxPace == .monthly(.fiveMinutes))
        #expect(plain.rules == ShopRules())
    }

    @Test func `the renewal rates that Xcode offers are those in Apple's table`() {
        let month = BillingPeriod(1, .month)
        let week = BillingPeriod(1, .week)
        for (number, monthSeconds, weekSeconds) in [
            (10, 3600, 900), (11, 1800, 600), (12, 900, 300), (13, 300, 180), (15, 30, 10),
            (1000, 900, 900), (1001, 300, 300), (1002, 60, 60), (1003, 30, 30), (1004, 10, 10),
            (1005, 2, 2),
        ] as [(Int64, Int64, Int64)] {
            let pace = Pace(timeRate: number)
            #expect(pace?.length(of: month) == monthSeconds * 1000, "rate \(number)")
            #expect(pace?.length(of: week) == weekSeconds * 1000, "rate \(number)")
        }
        #expect(Pace(timeRate: 0) == nil && Pace(timeRate: 77) == nil)
    }

    @Test func `renewals fail from the beginning if the shop's file says so`() async throws {
        let stage = try Stage(
            shop: try CatShop.file(settings: #"{"_renewalBillingIssuesEnabled": true}"#))
        try await stage.buy("pro.monthly", offer: "none")
        try await stage.advance("P1M")
        #expect(try await stage.story().last == "DID_FAIL_TO_RENEW/GRACE_PERIOD 4 pro.monthly")
    }

    @Test func `all of Apple's storefronts are known, each once`() {
        let all = Storefront.all
        #expect(all.count == 175)
        #expect(Set(all.map(\.country)).count == 175 && Set(all.map(\.id)).count == 175)
        #expect(all.allSatisfy { $0.id.count == 6 && $0.currency.count == 3 })
        for (country, id, currency) in [
            ("USA", "143441", "USD"), ("DEU", "143443", "EUR"), ("GBR", "143444", "GBP"),
            ("JPN", "143462", "JPY"), ("BGR", "143526", "EUR"), ("KOR", "143466", "KRW"),
        ] {
            let storefront = Storefront.named(country)
            #expect(storefront?.id == id && storefront?.currency == currency)
        }
    }

    @Test func `a price is looked up by storefront and day, then in general, then in the file`()
        throws
    {
        var prices = PriceList()
        let product = StoreKitProduct(
            id: "pro", referenceName: "", type: .consumable, price: 1000)
        let (old, new) = (AppStoreDate(milliseconds: 100), AppStoreDate(milliseconds: 200))
        try prices.set(3000, of: "pro", in: "DEU", from: new)
        try prices.set(2000, of: "pro", in: "DEU", from: old)
        try prices.set(4000, of: "pro", in: nil, from: new)
        let germany = try require(Storefront.named("DEU"), "no Germany")
        let before = AppStoreDate(milliseconds: 99)
        #expect(prices.price(of: product, in: germany, at: before) == 1000)
        #expect(prices.price(of: product, in: germany, at: old) == 2000)
        #expect(prices.price(of: product, in: germany, at: new) == 3000)
        #expect(prices.price(of: product, in: .unitedStates, at: old) == 1000)
        #expect(prices.price(of: product, in: .unitedStates, at: new) == 4000)
        try prices.set(3500, of: "pro", in: "DEU", from: new)
        #expect(prices.price(of: product, in: germany, at: new) == 3500)
    }

    @Test(arguments: [nil, "promo.basic"])
    func `a change at renewal has the price of the subscription's storefront, not the device's`(
        offer: String?
    ) async throws {
        var prices = PriceList()
        let begin = try moment("2026-01-01T00:00:00Z")
        try prices.set(700, of: "basic", in: "JPN", from: begin)
        let stage = try Stage(shop: try CatShop.file()) { $0.rules.prices = prices }
        try await stage.buy("pro.monthly", offer: "none")
        let device = try await stage.simulator.addDevice(account: "anna", storefront: "JPN")
        try await stage.buy("basic", offer: offer, on: device)
        try await stage.advance("P2M")
        let last = try require(try await stage.letters().last, "no letter").transaction
        #expect(last.productId == "basic" && last.currency == "USD" && last.price == 4990)
    }

    @Test func `a subscriber keeps the price of the day of purchase`() async throws {
        var prices = PriceList()
        try prices.set(8990, of: "pro.monthly", in: "DEU", from: moment("2026-01-01T00:00:00Z"))
        try prices.set(12_990, of: "pro.monthly", in: "DEU", from: moment("2026-02-01T00:00:00Z"))
        let stage = try Stage(shop: try CatShop.file()) { $0.rules.prices = prices }
        try await stage.simulator.addDevice(account: "anna", storefront: "DEU")
        try await stage.buy("pro.monthly", offer: "none")
        try await stage.advance("P1M")
        try await stage.simulator.addDevice(account: "ben", storefront: "DEU")
        try await stage.buy("pro.monthly", offer: "none", on: "ben-1")
        let letters = try await stage.letters()
        #expect(letters.map(\.transaction.price) == [8990, 8990, 12_990])
        #expect(letters.map(\.transaction.currency) == ["EUR", "EUR", "EUR"])
        #expect(letters.map(\.renewal?.renewalPrice) == [8990, 8990, 12_990])
    }
}
