import AppStoreClient
import AppStoreFormats
import Ledger

extension OfferCatalogue {
    /// The offers of a `.storekit` file.
    package init(_ file: StoreKitFile) {
        var products: [ProductID: Product] = [:]
        for product in file.products {
            guard let terms = product.subscription else { continue }
            products[ProductID(rawValue: product.id)] = Product(
                group: terms.groupID, hasIntroductory: !terms.introductoryOffers.isEmpty,
                promotional: terms.promotionalOffers.compactMap(\.id),
                winBack: terms.winBackOffers.compactMap(\.id),
                codes: terms.codeOffers.compactMap(Code.init))
        }
        self.init(products: products)
    }
}

extension OfferCatalogue.Code {
    fileprivate init?(_ offer: StoreKitOffer) {
        guard let id = offer.id else { return nil }
        var customers: Set<OfferCatalogue.Standing> = []
        if offer.customers.contains(.new) { customers.insert(.new) }
        if offer.customers.contains(.existing) { customers.insert(.subscribed) }
        if offer.customers.contains(.expired) { customers.insert(.lapsed) }
        self.init(id: id, customers: customers)
    }
}

extension AppConfiguration {
    /// Who signs offers: the key that Apple is asked with; of a simulated app without one the key
    /// pair of its `.storekit` file.
    package var offerSigner: OfferSigner? {
        if let access = appStore { return OfferSigner(access.credentials) }
        guard settings.isSimulated, let key = storeKit?.offersKey else { return nil }
        let pem =
            "-----BEGIN PRIVATE KEY-----\n\(key.privateKey)\n-----END PRIVATE KEY-----\n"
        // A file whose key was blacked out has none.
        let credentials = try? AppStoreCredentials(
            keyID: key.id, issuerID: Self.simulatedIssuer, bundleID: settings.bundleID,
            privateKey: pem)
        return credentials.map { OfferSigner($0) }
    }

    private static let simulatedIssuer = "simulated"
}
