import AppStoreFormats

@testable import Simulator

/// A shop with everything: each kind of product, offer and payment mode, and products to share.
enum CatShop {
    static func file(offersKey: String? = nil, settings: String = "{}") throws -> StoreKitFile {
        try StoreKitFile(parsing: text(offersKey: offersKey, settings: settings).utf8)
    }

    static func text(offersKey: String? = nil, settings: String = "{}") -> String {
        let key = offersKey.map {
            #""subscriptionOffersKeyPair": {"id": "CA75CA75", "privateKey": "\#($0)"},"#
        }
        return """
            {"version": {"major": 5, "minor": 0}, \(key ?? "") "settings": \(settings),
             "products": [
               {"productID": "gem", "type": "Consumable", "displayPrice": "0.99"},
               {"productID": "book", "type": "NonConsumable", "displayPrice": "9.99",
                "familyShareable": true}],
             "nonRenewingSubscriptions": [
               {"productID": "pass", "type": "NonRenewingSubscription", "displayPrice": "14.99"}],
             "subscriptionGroups": [
               {"id": "cats", "subscriptions": [\(proMonthly), \(proYearly), \(basic)]}]}
            """
    }

    private static let proMonthly = """
        {"productID": "pro.monthly", "displayPrice": "9.99", "groupNumber": 1,
         "recurringSubscriptionPeriod": "P1M", "familyShareable": true,
         "introductoryOffer": {"paymentMode": "free", "subscriptionPeriod": "P1W"},
         "adHocOffers": [
           {"offerID": "promo.free", "paymentMode": "free", "subscriptionPeriod": "P1M"},
           {"offerID": "promo.half", "paymentMode": "payAsYouGo", "displayPrice": "4.99",
            "subscriptionPeriod": "P1M", "numberOfPeriods": 2},
           {"offerID": "promo.front", "paymentMode": "payUpFront", "displayPrice": "19.99",
            "subscriptionPeriod": "P3M"}],
         "codeOffers": [
           {"referenceName": "NEWCAT", "eligibility": ["new"], "isStackable": false,
            "paymentMode": "payAsYouGo", "displayPrice": "0.99", "subscriptionPeriod": "P1M",
            "numberOfPeriods": 2},
           {"referenceName": "ANYCAT", "eligibility": ["new", "existing", "expired"],
            "isStackable": true, "paymentMode": "free", "subscriptionPeriod": "P1M"},
           {"referenceName": "OLDCAT", "eligibility": ["expired"], "isStackable": false,
            "paymentMode": "free", "subscriptionPeriod": "P1M"}],
         "winbackOffers": [
           {"offerID": "never", "isEligible": false, "paymentMode": "free",
            "subscriptionPeriod": "P1M"},
           {"offerID": "comeback", "isEligible": true, "paymentMode": "payAsYouGo",
            "displayPrice": "2.99", "subscriptionPeriod": "P1M"}]}
        """

    private static let proYearly = """
        {"productID": "pro.yearly", "displayPrice": "59.99", "groupNumber": 1,
         "recurringSubscriptionPeriod": "P1Y",
         "introductoryOffers": [
           {"paymentMode": "payUpFront", "displayPrice": "29.99", "subscriptionPeriod": "P6M",
            "billingPlanType": "BILLED_UPFRONT"},
           {"paymentMode": "free", "subscriptionPeriod": "P1M", "billingPlanType": "MONTHLY"}],
         "adHocOffers": [
           {"offerID": "promo.year", "paymentMode": "free", "subscriptionPeriod": "P1M"}],
         "billingPlans": [
           {"billingPlanType": "BILLED_UPFRONT", "displayPrice": "59.99",
            "commitmentDisplayPrice": "59.99"},
           {"billingPlanType": "MONTHLY", "displayPrice": "5.99",
            "commitmentDisplayPrice": "71.88"}]}
        """

    private static let basic = """
        {"productID": "basic", "displayPrice": "4.99", "groupNumber": 2,
         "recurringSubscriptionPeriod": "P1M",
         "introductoryOffer": {"paymentMode": "payAsYouGo", "displayPrice": "1.99",
           "subscriptionPeriod": "P1M", "numberOfPeriods": 2},
         "adHocOffers": [
           {"offerID": "promo.basic", "paymentMode": "payAsYouGo", "displayPrice": "0.99",
            "subscriptionPeriod": "P1M"}]}
        """
}
