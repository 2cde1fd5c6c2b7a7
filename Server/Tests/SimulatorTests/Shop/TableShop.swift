import AppStoreFormats

/// A shop in which every row of Apple's table can occur.
enum TableShop {
    static func file() throws(StoreKitFileFailure) -> StoreKitFile {
        try StoreKitFile(parsing: text.utf8)
    }

    private static let text = """
        {
          "products" : [
            { "productID" : "gem", "type" : "Consumable", "displayPrice" : "0.99" },
            {
              "productID" : "map", "type" : "NonConsumable", "displayPrice" : "4.99",
              "familyShareable" : true
            }
          ],
          "nonRenewingSubscriptions" : [
            {
              "productID" : "season", "type" : "NonRenewingSubscription",
              "displayPrice" : "9.99"
            }
          ],
          "subscriptionGroups" : [
            { "id" : "tiers", "name" : "Tiers", "subscriptions" : [\(tiers)] },
            { "id" : "intros", "name" : "Introductions", "subscriptions" : [\(introductions)] }
          ],
          "version" : { "major" : 5, "minor" : 0 }
        }
        """

    private static let tiers = [
        subscription("premium", "P1M", level: 1, "19.99", offers),
        subscription("pro", "P1M", level: 2, "9.99", offers + #", "familyShareable" : true"#),
        subscription("other", "P1M", level: 2, "8.99"),
        subscription("yearly", "P1Y", level: 2, "99.99", plans),
        subscription("plus", "P1M", level: 3, "4.99", offers),
    ].joined(separator: ",")

    private static let introductions = [
        subscription("trial", "P1M", level: 1, "9.99", introduction("free", "P1W")),
        subscription(
            "discounted", "P1M", level: 2, "9.99", introduction("payAsYouGo", "P1M", 3, "0.99")),
        subscription(
            "upfront", "P1M", level: 3, "9.99", introduction("payUpFront", "P3M", 1, "4.99")),
    ].joined(separator: ",")

    private static func subscription(
        _ id: String, _ period: String, level: Int, _ price: String, _ more: String = ""
    ) -> String {
        """
        {
          "productID" : "\(id)", "type" : "RecurringSubscription", "displayPrice" : "\(price)",
          "recurringSubscriptionPeriod" : "\(period)", "groupNumber" : \(level)\(more)
        }
        """
    }

    private static func introduction(
        _ mode: String, _ period: String, _ count: Int = 1, _ price: String = "0"
    ) -> String {
        """
        , "introductoryOffer" : {
          "paymentMode" : "\(mode)", "subscriptionPeriod" : "\(period)",
          "numberOfPeriods" : \(count), "displayPrice" : "\(price)"
        }
        """
    }

    private static let halfPrice = """
        "paymentMode" : "payAsYouGo", "subscriptionPeriod" : "P1M", "displayPrice" : "2.49"
        """

    private static let offers = """
        , "adHocOffers" : [{ "offerID" : "again", \(halfPrice) }],
        "codeOffers" : [{
          "referenceName" : "code", "eligibility" : ["new", "existing", "expired"], \(halfPrice)
        }],
        "winbackOffers" : [{ "offerID" : "back", "isEligible" : true, \(halfPrice) }]
        """

    private static let plans = """
        , "billingPlans" : [
          {
            "billingPlanType" : "BILLED_UPFRONT", "displayPrice" : "99.99", "isEnabled" : true
          },
          {
            "billingPlanType" : "MONTHLY", "displayPrice" : "8.33",
            "commitmentDisplayPrice" : "99.96", "isEnabled" : true
          }
        ]
        """
}
