import AppStoreFormats

/// A shop with everything that the App Store can sell: every kind of product, every period, and
/// every offer with every way to pay. It has several groups with levels, products with and without
/// Family Sharing, and a twelve-month commitment. Random customers need it to go through every
/// event.
package enum FullShop {
    /// The parsed shop.
    package static func file() throws(StoreKitFileFailure) -> StoreKitFile {
        try StoreKitFile(json: json)
    }

    /// The shop's StoreKit configuration file, as Xcode 26.5 would write it.
    static var json: JSON {
        [
            "identifier": "F0115709",
            "nonRenewingSubscriptions": [once("season", "NonRenewingSubscription", "14.99")],
            "products": [
                once("seeds", "Consumable", "0.99"),
                once("atlas", "NonConsumable", "24.99", isFamilyShareable: true),
            ],
            "settings": ["_storefront": "USA"],
            "subscriptionGroups": [
                group(
                    "30000001", "Tiers",
                    [
                        ("tiers.gold", "19.99", "P1M", 1, intro: ("payAsYouGo", "P1M", 3, "4.99")),
                        ("tiers.gold.yearly", "149.99", "P1Y", 1, intro: ("free", "P1M", 1, nil)),
                        ("tiers.silver", "9.99", "P1M", 2, intro: ("free", "P1W", 1, nil)),
                        ("tiers.silver.other", "9.49", "P1M", 2, intro: ("free", "P3D", 1, nil)),
                        ("tiers.bronze", "4.99", "P1M", 3, intro: ("payUpFront", "P2M", 1, "5.99")),
                    ]),
                group(
                    "30000002", "Weeks",
                    [
                        ("weeks.one", "2.99", "P1W", 1, intro: ("free", "P3D", 1, nil)),
                        ("weeks.half", "29.99", "P6M", 1, intro: nil),
                    ]),
                group(
                    "30000003", "Family",
                    [
                        ("family.alone", "24.99", "P1M", 1, intro: nil),
                        ("family.large", "19.99", "P1M", 2, intro: nil),
                        ("family.monthly", "12.99", "P1M", 3, intro: nil),
                        ("family.yearly", "119.99", "P1Y", 3, intro: nil),
                    ], shared: ["family.large", "family.monthly", "family.yearly"]),
                group(
                    "30000004", "Years", [("years.promised", "99.99", "P1Y", 1, intro: nil)],
                    monthlyPlan: ("9.99", "119.88")),
            ],
            "version": ["major": 5, "minor": 0],
        ]
    }

    /// The products of the shop that are sold in several seats, if a world sells seats. There are
    /// four: one with separate tiers in a storefront, one with the maximum number of tiers, one
    /// with a single price, and one that the family shares if only one seat is bought.
    package static let seats: SeatPrices = {
        var prices = SeatPrices()
        prices.set(
            SeatPrices.Tiers(
                everywhere: [.init(from: 3, price: 7_990)],
                byCountry: ["JPN": [.init(from: 2, price: 1_200_000)]]), of: "tiers.silver")
        prices.set(
            SeatPrices.Tiers(everywhere: [
                .init(from: 2, price: 17_990), .init(from: 3, price: 15_990),
                .init(from: 5, price: 12_490), .init(from: 7, price: 9_990),
            ]), of: "tiers.gold")
        prices.set(SeatPrices.Tiers(), of: "tiers.bronze")
        prices.set(
            SeatPrices.Tiers(everywhere: [.init(from: 4, price: 109_990)]), of: "tiers.gold.yearly")
        prices.set(SeatPrices.Tiers(everywhere: [.init(from: 2, price: 1_990)]), of: "weeks.one")
        prices.set(
            SeatPrices.Tiers(everywhere: [.init(from: 5, price: 0)]), of: "family.monthly")
        return prices
    }()

    private typealias Intro = (mode: String, period: String, count: Int64, price: String?)
    private typealias Tier = (
        id: String, price: String, period: String, level: Int64, intro: Intro?
    )

    private static func once(
        _ id: String, _ type: String, _ price: String, isFamilyShareable: Bool = false
    ) -> JSON {
        [
            "displayPrice": .string(price), "familyShareable": .bool(isFamilyShareable),
            "internalID": .string(id), "localizations": [], "productID": .string(id),
            "referenceName": .string(id), "type": .string(type),
        ]
    }

    private static func group(
        _ id: String, _ name: String, _ tiers: [Tier], shared: Set<String> = [],
        monthlyPlan: (price: String, commitment: String)? = nil
    ) -> JSON {
        let subscriptions = tiers.map { tier -> JSON in
            var members =
                once(
                    tier.id, "RecurringSubscription", tier.price,
                    isFamilyShareable: shared.contains(tier.id)
                ).members ?? []
            members += [
                .init("adHocOffers", [offer("loyal", "payAsYouGo", tier.period, 1, "1.99")]),
                .init("codeOffers", codeOffers(tier.period)),
                .init("winbackOffers", [winBack(tier.period)]),
                .init("groupNumber", .integer(tier.level)),
                .init("introductoryOffer", tier.intro.map(introductory) ?? .null),
                .init("recurringSubscriptionPeriod", .string(tier.period)),
                .init("subscriptionGroupID", .string(id)),
            ]
            if let monthlyPlan { members.append(.init("billingPlans", plans(tier, monthlyPlan))) }
            return .object(members)
        }
        return [
            "id": .string(id), "localizations": [], "name": .string(name),
            "subscriptions": .array(subscriptions),
        ]
    }

    private static func introductory(_ intro: Intro) -> JSON {
        offer(nil, intro.mode, intro.period, intro.count, intro.price)
    }

    private static func codeOffers(_ period: String) -> JSON {
        let everybody: JSON = ["new", "existing", "expired"]
        return .array(
            [("code.free", "free", nil), ("code.upfront", "payUpFront", "2.99")].map {
                name, mode, price in
                let offer = offer(name, mode, period, 1, price)
                return .object(
                    (offer.members ?? []) + [
                        .init("eligibility", everybody), .init("isStackable", true),
                    ])
            })
    }

    private static func winBack(_ period: String) -> JSON {
        let offer = offer("comeback", "payUpFront", period, 1, "3.99")
        return .object((offer.members ?? []) + [.init("isEligible", true)])
    }

    private static func offer(
        _ name: String?, _ mode: String, _ period: String, _ count: Int64, _ price: String?
    ) -> JSON {
        var members: [JSON.Member] = [
            .init("internalID", .string(name ?? "intro")), .init("paymentMode", .string(mode)),
            .init("subscriptionPeriod", .string(period)), .init("numberOfPeriods", .integer(count)),
        ]
        if let price { members.append(.init("displayPrice", .string(price))) }
        if let name {
            members.append(.init("offerID", .string(name)))
            members.append(.init("referenceName", .string(name)))
        }
        return .object(members)
    }

    private static func plans(
        _ tier: Tier, _ monthly: (price: String, commitment: String)
    ) -> JSON {
        [
            [
                "billingPlanType": "BILLED_UPFRONT", "displayPrice": .string(tier.price),
                "commitmentDisplayPrice": .string(tier.price),
                "internalID": .string(tier.id + ".upfront"), "isEnabled": true,
            ],
            [
                "billingPlanType": "MONTHLY", "displayPrice": .string(monthly.price),
                "commitmentDisplayPrice": .string(monthly.commitment),
                "internalID": .string(tier.id + ".monthly"), "isEnabled": true,
            ],
        ]
    }
}
