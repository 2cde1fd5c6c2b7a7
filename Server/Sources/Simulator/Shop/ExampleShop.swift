import AppStoreFormats

/// The shop of the getting-started guide: an app about birds with three subscription tiers, a
/// non-renewing season, a non-consumable guide, and consumable seeds. The yearly tier and the guide
/// are family shareable.
package enum ExampleShop {
    package static let bundleID = "com.example.birds"
    package static let appAppleID: Int64 = 1_234_567_890

    /// The parsed shop.
    package static func file() throws(StoreKitFileFailure) -> StoreKitFile {
        try StoreKitFile(parsing: storeKitText.utf8)
    }

    /// The shop's StoreKit configuration file, as Xcode would write it.
    package static var storeKitText: String {
        let products = [
            subscription("pro.monthly", "Birds Pro, monthly", "9.99", "P1M", level: 2),
            subscription(
                "pro.yearly", "Birds Pro, yearly", "59.99", "P1Y", level: 2, intro: weekFree,
                isShared: true),
            subscription("plus.monthly", "Birds Plus, monthly", "4.99", "P1M", level: 3),
            subscription("premium.monthly", "Birds Premium, monthly", "19.99", "P1M", level: 1),
        ]
        return """
            {
              "identifier" : "B12D5A0F",
              "nonRenewingSubscriptions" : [
                \(oneTime("season.spring", "Spring season", "14.99", "NonRenewingSubscription"))
              ],
              "products" : [
                \(oneTime("guide", "Field guide", "24.99", "NonConsumable", isShared: true)),
                \(oneTime("seeds.100", "100 seeds", "1.99", "Consumable"))
              ],
              "settings" : { "_locale" : "en_US", "_storefront" : "USA" },
              "subscriptionGroups" : [
                {
                  "id" : "\(groupID)",
                  "localizations" : [],
                  "name" : "Birds Pro",
                  "subscriptions" : [\(products.joined(separator: ","))]
                }
              ],
              "version" : { "major" : 4, "minor" : 0 }
            }
            """
    }

    /// The products of the shop that are sold in several seats: the monthly tier, whose price is
    /// lower from the third seat on.
    ///
    /// - Parameter shop: the products that exist; absent products are left out.
    package static func seats(in shop: StoreKitFile) -> SeatPrices {
        var seats = SeatPrices()
        guard shop.products.contains(where: { $0.id == seatedID }) else { return seats }
        seats.set(SeatPrices.Tiers(everywhere: [.init(from: 3, price: 7_990)]), of: seatedID)
        return seats
    }

    private static let seatedID = "pro.monthly"

    private static func oneTime(
        _ id: String, _ name: String, _ price: String, _ type: String, isShared: Bool = false
    ) -> String {
        """
        {
          "displayPrice" : "\(price)", "familyShareable" : \(isShared), "internalID" : "\(id)",
          "localizations" : [
            { "description" : "", "displayName" : "\(name)", "locale" : "en_US" }
          ],
          "productID" : "\(id)", "referenceName" : "\(name)", "type" : "\(type)"
        }
        """
    }

    private static let groupID = "21400001"

    private static let weekFree = """
        { "internalID" : "B12D0101", "paymentMode" : "free", "subscriptionPeriod" : "P1W" }
        """

    private static func subscription(
        _ id: String, _ name: String, _ price: String, _ period: String, level: Int,
        intro: String = "null", isShared: Bool = false
    ) -> String {
        """
        {
          "adHocOffers" : [], "codeOffers" : [], "winbackOffers" : [],
          "displayPrice" : "\(price)", "familyShareable" : \(isShared), "groupNumber" : \(level),
          "internalID" : "\(id)", "introductoryOffer" : \(intro),
          "localizations" : [
            { "description" : "", "displayName" : "\(name)", "locale" : "en_US" }
          ],
          "productID" : "\(id)", "recurringSubscriptionPeriod" : "\(period)",
          "referenceName" : "\(name)", "subscriptionGroupID" : "\(groupID)",
          "type" : "RecurringSubscription"
        }
        """
    }
}
