import AppStoreClient
import AppStoreFormats
import AppStoreTrust
import Engine
import Ledger
import Simulator

/// What all trials of a process share: nothing in it changes an answer.
package struct House: Sendable {
    static let app: AppID = "birds"
    /// What every subscription gives: the answer about it reaches over changes of product.
    static let membership: EntitlementID = "membership"
    static let secret = AppSecret(SimulatorSettings.wellKnownSecret)

    let shop: StoreKitFile
    /// Signs for every world. Its signatures come from the seed and the document, so that a trial
    /// is the same bytes each time.
    let authority: SigningAuthority
    /// Knows the chain already: to build one anew for each trial would only take time.
    let verifier: Verifier
    let credentials: AppStoreCredentials
    let apps: [AppSettings]
    let databases = Databases()

    /// Makes keys and certificates, which takes a moment.
    package init() throws {
        shop = try FullShop.file()
        authority = try SigningAuthority(seed: 1).hasty
        verifier = Verifier(
            roots: try TrustRoots(der: [authority.rootDER, try authority.receipts.rootDER]))
        credentials = AppStoreCredentials(
            keyID: APIKey.wellKnown.id, issuerID: APIKey.wellKnown.issuerID,
            bundleID: ExampleShop.bundleID, sign: APIKey.wellKnownSignature)
        // Each product gives an entitlement of its own name.
        var entitlements = Dictionary(
            uniqueKeysWithValues: shop.products.map {
                (EntitlementID(rawValue: $0.id), Set([ProductID(rawValue: $0.id)]))
            })
        let subscriptions = shop.products.filter { $0.type == .autoRenewable }
        entitlements[Self.membership] = Set(subscriptions.map { ProductID(rawValue: $0.id) })
        apps = [
            AppSettings(
                id: Self.app, bundleID: ExampleShop.bundleID, appAppleID: ExampleShop.appAppleID,
                isSimulated: true, sharedSecret: Self.secret,
                entitlements: entitlements)
        ]
    }
}
