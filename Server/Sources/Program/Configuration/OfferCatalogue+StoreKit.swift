import AppStoreClient
import AppStoreFormats
import Ledger
import Reports

extension OfferCatalogue {
    /// Makes a catalogue from the offers of a `.storekit` file.
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

extension StoreKitFile {
    /// The description of each product in the file, as lines of text, without prices and texts.
    var lines: [String] {
        let names = Dictionary(groups.map { ($0.id, $0.name) }) { one, _ in one }
        return products.map { product in
            var parts = [product.type.rawValue]
            if let terms = product.subscription {
                parts += [
                    "group \(names[terms.groupID] ?? "") (\(terms.groupID))",
                    "level \(terms.level)", "\(terms.period)",
                ]
            }
            if product.isFamilyShareable { parts.append("family sharing") }
            return "storekit has \(product.id): \(parts.joined(separator: ", "))"
        }
    }

    /// Whether each product can be shared with the family.
    var familyShareable: [ProductID: Bool] {
        Dictionary(products.map { (ProductID(rawValue: $0.id), $0.isFamilyShareable) }) { $1 }
    }

    /// How long a period of each subscription lasts.
    var lengths: [ProductID: PlanLength] {
        let lengths = products.compactMap { product in
            product.subscription.map { terms in
                let length: PlanLength =
                    terms.period.months > 0
                    ? .months(Int64(terms.period.months)) : .days(Int64(terms.period.days))
                return (ProductID(rawValue: product.id), length)
            }
        }
        return Dictionary(lengths) { $1 }
    }

    /// All products in the file.
    var productIDs: Set<ProductID> { Set(products.map { ProductID(rawValue: $0.id) }) }
}

extension OfferCatalogue.Code {
    fileprivate init?(_ offer: StoreKitOffer) {
        guard let id = offer.id else { return nil }
        var customers: Set<OfferCatalogue.SubscriberState> = []
        if offer.customers.contains(.new) { customers.insert(.new) }
        if offer.customers.contains(.existing) { customers.insert(.subscribed) }
        if offer.customers.contains(.expired) { customers.insert(.lapsed) }
        self.init(id: id, customers: customers)
    }
}

extension AppConfiguration {
    /// The signer of offers: the App Store key of the app, or, for a simulated app without one, the
    /// key pair in its `.storekit` file.
    package var offerSigner: OfferSigner? {
        if let access = appStore { return OfferSigner(access.credentials) }
        guard settings.isSimulated, let key = storeKit?.offersKey else { return nil }
        let pem =
            ["-----BEGIN PRIVATE KEY-----"] + Self.lines(of: key.privateKey)
            + ["-----END PRIVATE KEY-----", ""]
        // A `.storekit` file with a redacted key has no usable key.
        let credentials = try? AppStoreCredentials(
            keyID: key.id, issuerID: Self.simulatedIssuer, bundleID: settings.bundleID,
            privateKey: pem.joined(separator: "\n"))
        return credentials.map { OfferSigner($0) }
    }

    /// Splits text into lines of 64 characters, as PEM requires (RFC 7468).
    private static func lines(of text: String) -> [String] {
        var rest = text[...]
        var lines: [String] = []
        while !rest.isEmpty {
            lines.append(String(rest.prefix(64)))
            rest = rest.dropFirst(64)
        }
        return lines
    }

    private static let simulatedIssuer = "simulated"
}
