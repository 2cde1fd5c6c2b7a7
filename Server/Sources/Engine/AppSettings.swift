import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage

/// The settings of one app, as configured.
package struct AppSettings: Hashable, Sendable {
    /// The app's name in the configuration, such as `birds`.
    package var id: AppID
    package var bundleID: String
    /// Apple's number for the app; nil if documents are not checked for this number.
    package var appAppleID: Int64?
    /// Whether the app's purchases are made in a simulator. Only a simulated app trusts the
    /// simulator's root.
    package var isSimulated: Bool
    /// The shared secret, which version 1 notifications contain and verifyReceipt requires. If nil,
    /// neither version 1 notifications nor verifyReceipt requests are accepted.
    package var sharedSecret: AppSecret?
    /// Whether receipts, version 1 notifications and verifyReceipt are accepted as evidence.
    package var acceptsLegacy: Bool
    /// The products that give each entitlement.
    package var entitlements: [EntitlementID: Set<ProductID>]
    package var rules: AccessRules
    /// How long non-renewing products last.
    package var terms: TermRules
    /// The wallet credits that consumables give.
    package var wallets: WalletRules
    /// What the app publishes, and who may read it.
    package var content: ContentSettings
    /// The addresses that the app's notifications are forwarded to.
    package var forwards: ForwardRules
    /// The webhooks to which the app's events are posted.
    package var webhooks = WebhookRules.none
    /// What happens if a device presents another customer's purchase, by environment. An
    /// environment without an entry has the policy `keep`.
    package var restorePolicies: [Environment: OwnershipClaim.RestorePolicy]
    /// With whom a purchase may be shared, by environment. An environment without an entry has the
    /// default.
    package var shareRules: [Environment: OwnershipClaim.ShareRules]
    /// What the account tokens of the app's purchases identify.
    package var accountTokens: AccountTokens
    /// How a request from the app proves which customer it is for. If nil, the id alone is enough.
    package var proof: IdentityProof?
    /// The signed tokens that let others check a customer's entitlements without calling this
    /// server. If nil, the server issues no tokens.
    package var tokens: TokenRules?
    package var offers: OfferCatalogue
    /// The places in the app where products are offered.
    package var offerings = OfferingRules()
    /// The products that the configuration lists, including products that give nothing.
    package var listedProducts: Set<ProductID> = []
    /// The products of the app's `.storekit` file. Nil if none is configured.
    package var soldProducts: Set<ProductID>?
    /// Whether a request with an app key may merge two persons into one customer without proofs.
    package var joinsPeople = false
    /// The maximum number of ids and other items that requests with an app key may add to the
    /// database within an hour, if they contain no new document.
    package var growthPerHour = growthPerHourDefault
    /// The settings of reports about money.
    package var money = MoneySettings()
    /// The rules for the responses to the App Store about purchases whose refund is requested.
    package var consumption: ConsumptionRules
    /// The environments in which claims on seats are reported to the App Store. Apple supports only
    /// the sandbox.
    package var seatReports: Set<Environment> = seatReportsDefault
    /// The limit for the number of new documents about one purchase that devices may submit.
    package var documentBudget: DocumentBudget
    /// How the app is served if it contains RevenueCat's SDK.
    package var revenueCat = RevenueCatSettings()
    /// How long rows stay stored that are no longer needed.
    package var retention = RetentionSettings()
    /// The rule for customers who bought the app itself. Nil if the app was never sold.
    package var paidApp: PaidAppRule?

    package init(
        id: AppID, bundleID: String, appAppleID: Int64? = nil, isSimulated: Bool = false,
        sharedSecret: AppSecret? = nil, takesLegacy: Bool = true,
        entitlements: [EntitlementID: Set<ProductID>],
        rules: AccessRules = AccessRules(), terms: TermRules = .none,
        wallets: WalletRules = .none, content: ContentSettings = .none,
        forwards: ForwardRules = .none, restore: [Environment: OwnershipClaim.RestorePolicy] = [:],
        sharing: [Environment: OwnershipClaim.ShareRules] = [:],
        accountTokens: AccountTokens = .customers,
        proof: IdentityProof? = nil, tokens: TokenRules? = TokenRules(),
        offers: OfferCatalogue = .none, soldProducts: Set<ProductID>? = nil,
        consumption: ConsumptionRules = ConsumptionRules(),
        documentBudget: DocumentBudget = DocumentBudget(), paidApp: PaidAppRule? = nil
    ) {
        self.id = id
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.isSimulated = isSimulated
        self.sharedSecret = sharedSecret
        self.acceptsLegacy = takesLegacy
        self.entitlements = entitlements
        self.rules = rules
        self.terms = terms
        self.wallets = wallets
        self.content = content
        self.forwards = forwards
        self.restorePolicies = restore
        self.shareRules = sharing
        self.accountTokens = accountTokens
        self.proof = proof
        self.tokens = tokens
        self.offers = offers
        self.soldProducts = soldProducts
        self.consumption = consumption
        self.documentBudget = documentBudget
        self.paidApp = paidApp
    }

    package func restorePolicy(in environment: Environment) -> OwnershipClaim.RestorePolicy {
        restorePolicies[environment] ?? .keep
    }

    package func shareRules(in environment: Environment) -> OwnershipClaim.ShareRules {
        shareRules[environment] ?? OwnershipClaim.ShareRules()
    }

    package static let seatReportsDefault: Set<Environment> = [.sandbox]

    /// Throws `legacyDisabled` if the app does not accept evidence from before StoreKit 2.
    func requireLegacy() throws(EngineFailure) {
        guard acceptsLegacy else { throw .legacyDisabled(id) }
    }

    /// Whether the configuration says what a product gives.
    func lists(_ product: ProductID) -> Bool {
        listedProducts.contains(product) || entitlements.values.contains { $0.contains(product) }
            || terms.products[product] != nil
            || wallets.credits[product] != nil
            || content.items.contains { $0.publication.products.contains(product) }
    }

    var identity: AppIdentity {
        AppIdentity(
            bundleID: bundleID, appAppleID: appAppleID, environments: [.production, .sandbox])
    }
}
