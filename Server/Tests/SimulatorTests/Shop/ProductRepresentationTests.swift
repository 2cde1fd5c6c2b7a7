import AppStoreFormats
import Testing

@testable import Simulator

/// Products as StoreKit shows them on a device.
@Suite struct ProductRepresentationTests {
    private func stage(_ storefront: String) async throws -> Stage {
        let stage = try Stage(shop: try CodeShop.file())
        try await stage.simulator.addDevice(account: "anna", storefront: storefront)
        return stage
    }

    private func product(
        _ id: String, _ client: StageClient, _ query: String = ""
    ) async throws -> JSON {
        let answer = try await client.json("/_sim/devices/anna-1/products?ids=\(id)\(query)")
        return try require(answer["products"]?.array?.first, "\(id) is not sold")
    }

    @Test func `a subscription has its rank, group, offers and plans in Apple's JSON`()
        async throws
    {
        let stage = try await stage("USA")
        try await stage.withClient { client in
            let monthly = try await product("pro.monthly", client)["json_representation"]
            let attributes = try require(monthly?["attributes"], "no attributes")
            #expect(attributes["offerName"] == "pro.monthly")
            #expect(attributes["icuLocale"] == "en_US@currency=USD")
            #expect(attributes["subscriptionFamilyId"] == "cats")
            #expect(attributes["subscriptionFamilyName"] == "All cats")
            #expect(attributes["subscriptionFamilyRank"] == 1)
            #expect(attributes["isFamilyShareable"] == 1)
            let offer = try require(attributes["offers"]?.array?.first, "no offer")
            #expect(offer["price"] == "9.99")
            #expect(offer["priceFormatted"] == "$9.99")
            #expect(offer["recurringSubscriptionPeriod"] == "P1M")
            let kinds = offer["discounts"]?.array?.compactMap { $0["type"]?.string } ?? []
            #expect(kinds.first == "IntroOffer")
            #expect(kinds.filter { $0 == "AdhocOffer" }.count == 3)
            #expect(kinds.filter { $0 == "WinbackOffer" }.count == 2)
            let yearly = try await product("pro.yearly", client)["json_representation"]
            let plans = yearly?["attributes"]?["offers"]?.array?.first?["billingPlans"]?.array ?? []
            #expect(plans.map { $0["billingPlanType"] } == ["BILLED_UPFRONT", "MONTHLY"])
            let basic = try await product("basic", client)["json_representation"]
            #expect(basic?["attributes"]?["subscriptionFamilyRank"] == 2)
        }
    }

    @Test(arguments: [
        ("USA", "", "Gem", "$0.99", "en_US"), ("DEU", "", "Juwel", "0,99\u{a0}€", "de_DE"),
        ("DEU", "&locale=en-GB", "Gem", "€0.99", "en_GB"),
        ("USA", "&locale=de_CH", "Juwel", "$\u{a0}0.99", "de_CH"),
        ("JPN", "", "Gem", "¥1", "ja_JP"),
    ])
    func `names and prices are those of the storefront and the language`(
        storefront: String, query: String, name: String, price: String, locale: String
    ) async throws {
        let stage = try await stage(storefront)
        try await stage.withClient { client in
            let gem = try await product("gem", client, query)
            #expect(gem["display_name"]?.string == name)
            #expect(gem["display_price"]?.string == price)
            #expect(gem["locale"]?.string == locale)
        }
    }

    @Test func `every storefront has a language and a country`() throws {
        for storefront in Storefront.all {
            let locale = try ProductRepresentation.locale(nil, in: storefront)
            #expect(locale.region != nil, "\(storefront.country)")
            #expect(locale.language.languageCode?.identifier != "und", "\(storefront.country)")
        }
    }

    @Test func `products that are not sold are omitted, and an invalid locale is refused`()
        async throws
    {
        let stage = try await stage("USA")
        try await stage.withClient { client in
            let path = "/_sim/devices/anna-1/products"
            let answer = try await client.json("\(path)?ids=none,gem")
            #expect(answer["invalid_ids"] == ["none"])
            #expect(answer["products"]?.array?.count == 1)
            _ = try await client.json("\(path)?locale=1", status: 400)
        }
    }
}
