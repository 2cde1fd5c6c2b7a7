/// The settings of a `.storekit` file that can be used outside Xcode. A setting is nil if the file
/// does not contain it.
package struct StoreKitSettings: Hashable, Sendable {
    /// The storefront in ISO 3166-1 alpha-3.
    package var storefront: String?
    /// The locale, such as `en_US`.
    package var locale: String?
    /// How fast subscriptions renew, as a number of `SKTestSession.TimeRate`. 0 is real time.
    package var timeRate: Int64?
    /// Whether purchases wait for a parent's approval.
    package var asksToBuy: Bool?
    package var billingGracePeriodEnabled: Bool?
    /// Whether renewals fail and are retried.
    package var renewalsFail: Bool?
    /// Whether purchases are interrupted until an issue is resolved.
    package var interruptsPurchases: Bool?
    package var failsPurchases: Bool?

    package init(storefront: String? = nil, billingGracePeriodEnabled: Bool? = nil) {
        self.storefront = storefront
        self.billingGracePeriodEnabled = billingGracePeriodEnabled
    }

    /// Reads the settings. A key whose type differs from Xcode's counts as absent.
    package init(json: JSON) {
        storefront = json["_storefront"]?.string
        locale = json["_locale"]?.string
        timeRate = json["_timeRate"]?.integer
        asksToBuy = json["_askToBuyEnabled"]?.bool
        billingGracePeriodEnabled = json["_billingGracePeriodEnabled"]?.bool
        renewalsFail = json["_renewalBillingIssuesEnabled"]?.bool
        interruptsPurchases = json["_billingIssuesEnabled"]?.bool
        failsPurchases = json["_failTransactionsEnabled"]?.bool
        // Since version 3 each API has a separate error.
        let armed = json["_storeKitErrors"]?.array?.contains {
            $0["name"] == "Purchase" && $0["enabled"] == true
        }
        if armed == true { failsPurchases = true }
    }
}
