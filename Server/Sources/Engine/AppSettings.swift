import AppStoreFormats
import AppStoreTrust
import Ledger
import Storage

/// How many new documents of one purchase devices may bring in an hour.
package typealias DocumentBudget = Storage.DocumentBudget

/// One app, as the configuration describes it.
package struct AppSettings: Hashable, Sendable {
    /// The name that the configuration gives it, such as `birds`.
    package var id: AppID
    package var bundleID: String
    /// Apple's number for the app; nil where it is not to be checked.
    package var appAppleID: Int64?
    /// Its purchases are made in a simulator, whose root it trusts. No other app does.
    package var isSimulated: Bool
    /// What notifications of version 1 carry, and verifyReceipt wants; nil: neither is used.
    package var sharedSecret: AppSecret?
    /// Whether receipts, notifications of version 1 and verifyReceipt are taken as evidence.
    package var takesLegacy: Bool
    /// Which products give which right.
    package var entitlements: [EntitlementID: Set<ProductID>]
    package var rules: AccessRules
    /// How long what does not renew lasts.
    package var terms: TermRules
    /// What consumables put into which wallet.
    package var wallets: WalletRules
    /// What is published, and who may read it.
    package var content: ContentSettings
    /// Whom its notifications are sent on to.
    package var forwards: ForwardRules
    /// What becomes of another customer's purchase that a device shows, where it is not kept.
    package var restore: [Environment: Claim.Policy]
    /// To whom such a purchase is shared, where it is not as usual.
    package var sharing: [Environment: Claim.ShareRules]
    /// Whom the account tokens of its purchases name.
    package var accountTokens: AccountTokens
    /// By what an app's request shows that it speaks for a customer; nil: by the id alone.
    package var proof: IdentityProof?
    /// What customers carry to be checked without us; nil: nothing.
    package var tokens: TokenRules?
    package var offers: OfferCatalogue
    /// What the store is told of purchases whose refund is wished for.
    package var consumption: ConsumptionRules
    /// How much devices may bring of one purchase.
    package var documentBudget: DocumentBudget

    package init(
        id: AppID, bundleID: String, appAppleID: Int64? = nil, isSimulated: Bool = false,
        sharedSecret: AppSecret? = nil, takesLegacy: Bool = true,
        entitlements: [EntitlementID: Set<ProductID>],
        rules: AccessRules = AccessRules(), terms: TermRules = .none,
        wallets: WalletRules = .none, content: ContentSettings = .none,
        forwards: ForwardRules = .none, restore: [Environment: Claim.Policy] = [:],
        sharing: [Environment: Claim.ShareRules] = [:], accountTokens: AccountTokens = .customers,
        proof: IdentityProof? = nil, tokens: TokenRules? = TokenRules(),
        offers: OfferCatalogue = .none, consumption: ConsumptionRules = ConsumptionRules(),
        documentBudget: DocumentBudget = DocumentBudget()
    ) {
        self.id = id
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.isSimulated = isSimulated
        self.sharedSecret = sharedSecret
        self.takesLegacy = takesLegacy
        self.entitlements = entitlements
        self.rules = rules
        self.terms = terms
        self.wallets = wallets
        self.content = content
        self.forwards = forwards
        self.restore = restore
        self.sharing = sharing
        self.accountTokens = accountTokens
        self.proof = proof
        self.tokens = tokens
        self.offers = offers
        self.consumption = consumption
        self.documentBudget = documentBudget
    }

    package func restore(in environment: Environment) -> Claim.Policy {
        restore[environment] ?? .keep
    }

    package func sharing(in environment: Environment) -> Claim.ShareRules {
        sharing[environment] ?? Claim.ShareRules()
    }

    /// Refuses evidence from before StoreKit 2, where the app does not take it.
    func requireLegacy() throws(EngineFailure) {
        guard takesLegacy else { throw .legacyOff(id) }
    }

    /// Whether the configuration says what a product gives.
    func names(_ product: ProductID) -> Bool {
        entitlements.values.contains { $0.contains(product) } || terms.products[product] != nil
            || wallets.credits[product] != nil
            || content.items.contains { $0.publication.products.contains(product) }
    }

    var identity: AppIdentity {
        AppIdentity(
            bundleID: bundleID, appAppleID: appAppleID, environments: [.production, .sandbox])
    }
}
