import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Engine
import Ledger
import Simulator

/// Objects that all trials of a process share. These objects do not affect any answer.
package struct TrialFixture: Sendable {
    static let app: AppID = "birds"
    /// The entitlement that every subscription gives, so that it stays open across changes of
    /// product.
    static let membership: EntitlementID = "membership"
    /// The product that the configuration does not list in trials with
    /// ``FaultFamily/unlistedProducts``.
    static let unlisted: ProductID = "atlas"
    /// The number of shares is small, so that copies use up all of them.
    static let shareRules = OwnershipClaim.ShareRules(anonymousMost: 3)
    static let secret = AppSecret(SimulatorSettings.wellKnownSecret)

    let catalogue: StoreKitFile
    /// Signs for every simulated world. Its signatures are derived from the seed and the document,
    /// so that a trial produces the same bytes each time.
    let authority: SigningAuthority
    /// The verifier of all trials. Trials share one verifier, because building the certificate
    /// chain for each trial would only take time.
    let verifier: Verifier
    let credentials: AppStoreCredentials
    let apps: [AppSettings]
    let databases = DatabasePool()

    /// Creates keys and certificates, which takes a moment.
    package init() throws {
        catalogue = try FullShop.file()
        authority = try SigningAuthority(seed: 1).fast
        verifier = Verifier(
            roots: try TrustRoots(der: [authority.rootDER, try authority.receipts.rootDER]))
        credentials = AppStoreCredentials(
            keyID: APIKey.wellKnown.id, issuerID: APIKey.wellKnown.issuerID,
            bundleID: ExampleShop.bundleID, sign: APIKey.wellKnownSignature)
        // Each product gives an entitlement with the product's name.
        var entitlements = Dictionary(
            uniqueKeysWithValues: catalogue.products.map {
                (EntitlementID(rawValue: $0.id), Set([ProductID(rawValue: $0.id)]))
            })
        let subscriptions = catalogue.products.filter { $0.type == .autoRenewable }
        entitlements[Self.membership] = Set(subscriptions.map { ProductID(rawValue: $0.id) })
        apps = [
            AppSettings(
                id: Self.app, bundleID: ExampleShop.bundleID, appAppleID: ExampleShop.appAppleID,
                isSimulated: true, sharedSecret: Self.secret,
                entitlements: entitlements,
                sharing: [.production: Self.shareRules, .sandbox: Self.shareRules])
        ]
    }

    /// The apps of a trial.
    func apps(of plan: Plan) -> [AppSettings] {
        guard plan.has(.unlistedProducts) else { return apps }
        return apps.map { app in
            var app = app
            app.entitlements[EntitlementID(rawValue: Self.unlisted.rawValue)] = nil
            return app
        }
    }
}
