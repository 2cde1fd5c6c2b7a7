/// A shop as Xcode writes it into a `.storekit` file, of versions 1 to 6.
///
/// Apple documents no format. Unknown keys are ignored and absent sections are empty; but a price
/// that is no plain number, and a recurring product outside a group, are errors: reading on would
/// sell something for nothing, or sell it wrongly.
package struct StoreKitFile: Hashable, Sendable {
    /// Consumables, non-consumables and non-renewing subscriptions, in the order of the file.
    package var oneTimeProducts: [StoreKitProduct]
    package var groups: [StoreKitGroup]
    package var settings: StoreKitSettings
    /// 1 (Xcode 12) to 6 (Xcode 27).
    package var majorVersion: Int64

    package init(
        oneTimeProducts: [StoreKitProduct] = [], groups: [StoreKitGroup] = [],
        settings: StoreKitSettings = StoreKitSettings(), majorVersion: Int64 = 4
    ) {
        self.oneTimeProducts = oneTimeProducts
        self.groups = groups
        self.settings = settings
        self.majorVersion = majorVersion
    }

    /// Every product of every section.
    package var products: [StoreKitProduct] { oneTimeProducts + groups.flatMap(\.subscriptions) }
}

/// One thing sold.
package struct StoreKitProduct: Hashable, Sendable {
    package var id: String
    /// The name in App Store Connect.
    package var referenceName: String
    package var type: ProductType
    /// Thousandths of the storefront's currency unit.
    package var price: Int64
    package var isFamilyShareable: Bool
    /// In the file's first language; empty where the file has none.
    package var displayName: String
    package var description: String
    /// Only of auto-renewable subscriptions.
    package var subscription: StoreKitSubscription?

    package init(
        id: String, referenceName: String, type: ProductType, price: Int64,
        isFamilyShareable: Bool = false, displayName: String = "", description: String = "",
        subscription: StoreKitSubscription? = nil
    ) {
        self.id = id
        self.referenceName = referenceName
        self.type = type
        self.price = price
        self.isFamilyShareable = isFamilyShareable
        self.displayName = displayName
        self.description = description
        self.subscription = subscription
    }
}

/// The products of which a customer has one at a time.
package struct StoreKitGroup: Hashable, Sendable {
    /// `subscriptionGroupIdentifier` in transactions.
    package var id: String
    package var name: String
    package var subscriptions: [StoreKitProduct]

    package init(id: String, name: String, subscriptions: [StoreKitProduct]) {
        self.id = id
        self.name = name
        self.subscriptions = subscriptions
    }
}

/// What makes a product a subscription.
package struct StoreKitSubscription: Hashable, Sendable {
    package var groupID: String
    /// 1 is the highest; equal numbers are one level.
    package var level: Int64
    package var period: BillingPeriod
    /// At most one is in force; a file of version 5 may hold one for each billing plan.
    package var introductoryOffer: StoreKitOffer?
    package var promotionalOffers: [StoreKitOffer]
    package var codeOffers: [StoreKitOffer]
    package var winBackOffers: [StoreKitOffer]

    package init(
        groupID: String, level: Int64, period: BillingPeriod,
        introductoryOffer: StoreKitOffer? = nil, promotionalOffers: [StoreKitOffer] = [],
        codeOffers: [StoreKitOffer] = [], winBackOffers: [StoreKitOffer] = []
    ) {
        self.groupID = groupID
        self.level = level
        self.period = period
        self.introductoryOffer = introductoryOffer
        self.promotionalOffers = promotionalOffers
        self.codeOffers = codeOffers
        self.winBackOffers = winBackOffers
    }
}

/// A lower price for a time.
package struct StoreKitOffer: Hashable, Sendable {
    package var type: OfferType
    /// Promotional and win-back offers have an identifier, codes their reference name; introductory
    /// offers have none.
    package var id: String?
    package var discount: OfferDiscountType
    package var period: BillingPeriod
    package var periodCount: Int
    /// Thousandths of the currency unit for each period (pay up front: for all of them); zero for a
    /// free trial.
    package var price: Int64

    package init(
        type: OfferType, id: String? = nil, discount: OfferDiscountType, period: BillingPeriod,
        periodCount: Int = 1, price: Int64 = 0
    ) {
        self.type = type
        self.id = id
        self.discount = discount
        self.period = period
        self.periodCount = periodCount
        self.price = price
    }
}

/// The settings of the file that a shop outside Xcode can use.
package struct StoreKitSettings: Hashable, Sendable {
    /// ISO 3166-1 alpha-3.
    package var storefront: String?
    package var billingGracePeriodEnabled: Bool

    package init(storefront: String? = nil, billingGracePeriodEnabled: Bool = false) {
        self.storefront = storefront
        self.billingGracePeriodEnabled = billingGracePeriodEnabled
    }
}

/// Why a `.storekit` file cannot be used, and where in it.
package struct StoreKitFileFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, with what to do.
    package var what: String
    /// The product, group or key concerned.
    package var place: String

    package init(_ what: String, at place: String) {
        self.what = what
        self.place = place
    }

    package var description: String { "\(place): \(what)" }
}
