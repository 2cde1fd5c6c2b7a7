/// The contents of an Xcode `.storekit` file, of versions 1 to 6.
///
/// Apple does not document the format. Unknown keys are ignored, and absent sections are empty. Two
/// faults are errors: a price that is not a plain number, and a recurring product outside a group.
/// A shop that ignored these faults would sell a product for nothing or with the wrong terms.
package struct StoreKitFile: Hashable, Sendable {
    /// The consumables, non-consumables and non-renewing subscriptions, in the order of the file.
    package var oneTimeProducts: [StoreKitProduct]
    package var groups: [StoreKitGroup]
    package var settings: StoreKitSettings
    /// The key that signs promotional offers. Nil if the file has none.
    package var offersKey: StoreKitOffersKey?
    /// The version of the file's format: 1 (Xcode 12) to 6 (Xcode 27).
    package var majorVersion: Int64

    package init(
        oneTimeProducts: [StoreKitProduct] = [], groups: [StoreKitGroup] = [],
        settings: StoreKitSettings = StoreKitSettings(), offersKey: StoreKitOffersKey? = nil,
        majorVersion: Int64 = 4
    ) {
        self.oneTimeProducts = oneTimeProducts
        self.groups = groups
        self.settings = settings
        self.offersKey = offersKey
        self.majorVersion = majorVersion
    }

    /// The products of all sections.
    package var products: [StoreKitProduct] { oneTimeProducts + groups.flatMap(\.subscriptions) }
}

/// One product of a shop.
package struct StoreKitProduct: Hashable, Sendable {
    package var id: String
    /// The name in App Store Connect.
    package var referenceName: String
    package var type: ProductType
    /// The price in thousandths of the storefront's currency unit.
    package var price: Int64
    package var isFamilyShareable: Bool
    /// The name in the file's first language. Empty if the file has none.
    package var displayName: String
    package var description: String
    /// The names and descriptions in all languages of the file.
    package var localizations: [StoreKitLocalization] = []
    /// The codes for a one-time product. The codes of a subscription are among its terms.
    package var codeOffers: [StoreKitOffer] = []
    /// The subscription terms. Nil unless the product is an auto-renewable subscription.
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

/// The texts for customers in one language.
package struct StoreKitLocalization: Hashable, Sendable {
    /// The language, such as `de` or `en_US`.
    package var locale: String
    package var displayName: String
    /// The description. Empty for groups.
    package var description: String

    package init(locale: String, displayName: String, description: String = "") {
        self.locale = locale
        self.displayName = displayName
        self.description = description
    }
}

/// A subscription group: a customer has one of its products at a time.
package struct StoreKitGroup: Hashable, Sendable {
    /// The group's id: `subscriptionGroupIdentifier` in transactions.
    package var id: String
    package var name: String
    /// The names in all languages of the file.
    package var localizations: [StoreKitLocalization] = []
    package var subscriptions: [StoreKitProduct]

    package init(id: String, name: String, subscriptions: [StoreKitProduct]) {
        self.id = id
        self.name = name
        self.subscriptions = subscriptions
    }
}

/// The subscription terms of a product.
package struct StoreKitSubscription: Hashable, Sendable {
    package var groupID: String
    /// The level within the group. 1 is the highest; products with the same number have the same
    /// level.
    package var level: Int64
    package var period: BillingPeriod
    /// The introductory offers: at most one for each billing plan; before version 5, at most one.
    package var introductoryOffers: [StoreKitOffer]
    package var promotionalOffers: [StoreKitOffer]
    package var codeOffers: [StoreKitOffer]
    package var winBackOffers: [StoreKitOffer]
    /// The billing plans. Empty before version 5, where the product's price is the only plan.
    package var billingPlans: [StoreKitBillingPlan]

    package init(
        groupID: String, level: Int64, period: BillingPeriod,
        introductoryOffer: StoreKitOffer? = nil, promotionalOffers: [StoreKitOffer] = [],
        codeOffers: [StoreKitOffer] = [], winBackOffers: [StoreKitOffer] = [],
        billingPlans: [StoreKitBillingPlan] = []
    ) {
        self.groupID = groupID
        self.level = level
        self.period = period
        introductoryOffers = introductoryOffer.map { [$0] } ?? []
        self.promotionalOffers = promotionalOffers
        self.codeOffers = codeOffers
        self.winBackOffers = winBackOffers
        self.billingPlans = billingPlans
    }

    /// The introductory offer for customers who pay a whole period at once. Nil if there is none.
    package var introductoryOffer: StoreKitOffer? { introductoryOffer(of: .billedUpfront) }

    /// The introductory offer of a billing plan. An offer that names no plan is for customers who
    /// pay at once. Nil if there is none.
    package func introductoryOffer(of plan: BillingPlanType) -> StoreKitOffer? {
        introductoryOffers.first { ($0.billingPlan ?? .billedUpfront) == plan }
    }

    /// The plan of twelve monthly payments with a commitment. Nil if it is not enabled.
    package var monthlyPlan: StoreKitBillingPlan? {
        billingPlans.first { $0.type == .monthly && $0.isEnabled }
    }
}

/// How a subscription can be paid: at once, or monthly with a commitment for a year.
package struct StoreKitBillingPlan: Hashable, Sendable {
    package var type: BillingPlanType
    /// The price of each billing period, in thousandths of the currency unit.
    package var price: Int64
    /// The price of the whole commitment, in thousandths of the currency unit.
    package var commitmentPrice: Int64
    package var isEnabled: Bool

    package init(
        type: BillingPlanType, price: Int64, commitmentPrice: Int64, isEnabled: Bool = true
    ) {
        self.type = type
        self.price = price
        self.commitmentPrice = commitmentPrice
        self.isEnabled = isEnabled
    }
}

/// The key that Xcode generates for signing promotional offers in tests.
package struct StoreKitOffersKey: Hashable, Sendable {
    package var id: String
    /// The private key: P-256, PKCS#8, in Base64.
    package var privateKey: String

    package init(id: String, privateKey: String) {
        self.id = id
        self.privateKey = privateKey
    }
}

/// Why a `.storekit` file cannot be used, and where the problem is.
package struct StoreKitFileFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, and what to do.
    package var message: String
    /// The product, group or key that the problem is about.
    package var location: String

    package init(_ what: String, at place: String) {
        self.message = what
        self.location = place
    }

    package var description: String { "\(location): \(message)" }
}
