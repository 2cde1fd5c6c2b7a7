/// The contents of an Xcode `.storekit` file, of versions 1 to 6.
///
/// Apple does not document the format. Unknown keys are ignored, and absent sections are empty. Two
/// things are errors: a price that is not a plain number, and a recurring product outside a group.
/// Ignoring them would sell a product for nothing, or with the wrong terms.
package struct StoreKitFile: Hashable, Sendable {
    /// Consumables, non-consumables, and non-renewing subscriptions, in the order of the file.
    package var oneTimeProducts: [StoreKitProduct]
    package var groups: [StoreKitGroup]
    package var settings: StoreKitSettings
    /// Signs promotional offers; nil if the file has none.
    package var offersKey: StoreKitOffersKey?
    /// 1 (Xcode 12) to 6 (Xcode 27).
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

    /// Every product of every section.
    package var products: [StoreKitProduct] { oneTimeProducts + groups.flatMap(\.subscriptions) }
}

/// One product.
package struct StoreKitProduct: Hashable, Sendable {
    package var id: String
    /// The name in App Store Connect.
    package var referenceName: String
    package var type: ProductType
    /// In thousandths of the storefront's currency unit.
    package var price: Int64
    package var isFamilyShareable: Bool
    /// In the file's first language; empty if the file has none.
    package var displayName: String
    package var description: String
    /// Names in all languages of the file.
    package var localizations: [StoreKitLocalization] = []
    /// Codes for a one-time product. Those of a subscription are among its terms.
    package var codeOffers: [StoreKitOffer] = []
    /// Only for auto-renewable subscriptions.
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

/// What a customer reads, in one language.
package struct StoreKitLocalization: Hashable, Sendable {
    /// Such as `de` or `en_US`.
    package var locale: String
    package var displayName: String
    /// Empty for groups.
    package var description: String

    package init(locale: String, displayName: String, description: String = "") {
        self.locale = locale
        self.displayName = displayName
        self.description = description
    }
}

/// A subscription group: a customer has one of its products at a time.
package struct StoreKitGroup: Hashable, Sendable {
    /// `subscriptionGroupIdentifier` in transactions.
    package var id: String
    package var name: String
    /// Names in all languages of the file.
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
    /// 1 is the highest; equal numbers are the same level.
    package var level: Int64
    package var period: BillingPeriod
    /// At most one for each billing plan; before version 5 at most one.
    package var introductoryOffers: [StoreKitOffer]
    package var promotionalOffers: [StoreKitOffer]
    package var codeOffers: [StoreKitOffer]
    package var winBackOffers: [StoreKitOffer]
    /// Empty before version 5: then the product's price is the only plan.
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

    /// The introductory offer for paying a whole period at once.
    package var introductoryOffer: StoreKitOffer? { introductoryOffer(of: .billedUpfront) }

    /// The introductory offer of a billing plan. An offer that names no plan is for paying at once.
    package func introductoryOffer(of plan: BillingPlanType) -> StoreKitOffer? {
        introductoryOffers.first { ($0.billingPlan ?? .billedUpfront) == plan }
    }

    /// The plan of twelve monthly payments with a commitment, if it is enabled.
    package var monthlyPlan: StoreKitBillingPlan? {
        billingPlans.first { $0.type == .monthly && $0.isEnabled }
    }
}

/// How a subscription can be paid: at once, or monthly with a commitment of a year.
package struct StoreKitBillingPlan: Hashable, Sendable {
    package var type: BillingPlanType
    /// In thousandths of the currency unit, for each billing period.
    package var price: Int64
    /// In thousandths of the currency unit, for the whole commitment.
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
    /// P-256, PKCS#8, in Base64.
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
    /// The product, group, or key concerned.
    package var location: String

    package init(_ what: String, at place: String) {
        self.message = what
        self.location = place
    }

    package var description: String { "\(location): \(message)" }
}
