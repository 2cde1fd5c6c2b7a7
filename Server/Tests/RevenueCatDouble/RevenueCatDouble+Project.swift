import AppStoreFormats

extension RevenueCatDouble {
    /// What a developer has configured at RevenueCat: keys, products and entitlements.
    package struct Project: Sendable {
        /// A product, with RevenueCat's own id beside the store's.
        package struct Product: Hashable, Sendable {
            package let id: String
            package let storeIdentifier: String
            let type: ProductType
            let period: String?
        }

        /// An entitlement, with RevenueCat's own id beside the developer's name.
        package struct Entitlement: Hashable, Sendable {
            package let id: String
            package let lookupKey: String
            /// The store's ids of the attached products.
            let products: Set<String>
        }

        package var id = "proj7e1f2a90"
        package var appID = "app4c0de51ab7"
        /// The secret key of API version 1.
        package var v1Key = "sk_double_v1"
        /// The secret key of API version 2.
        package var v2Key = "sk_double_v2"
        /// Whether sandbox purchases open entitlements (RevenueCat's page "Sandbox Testing Access":
        /// by default, for anybody).
        package var sandboxGivesAccess = true
        package let products: [Product]
        package let entitlements: [Entitlement]
        let created: AppStoreDate
        private let productIDs: [String: Product]

        /// - Parameters:
        ///   - shop: the products that exist.
        ///   - entitlements: the store's ids of the products attached to each entitlement.
        package init(
            shop: StoreKitFile, entitlements: [String: [String]],
            created: AppStoreDate = AppStoreDate(milliseconds: 1_700_000_000_000)
        ) {
            self.created = created
            products = shop.products.map { product in
                Product(
                    id: "prod" + StableHash.hex(product.id), storeIdentifier: product.id,
                    type: product.type, period: product.subscription?.period.description)
            }
            productIDs = Dictionary(products.map { ($0.storeIdentifier, $0) }) { one, _ in one }
            self.entitlements = entitlements.sorted { $0.key < $1.key }.map { name, products in
                Entitlement(
                    id: "entl" + StableHash.hex(name), lookupKey: name, products: Set(products))
            }
        }

        /// A product by the store's id. Nil if the project does not know it.
        package func product(_ storeIdentifier: String) -> Product? { productIDs[storeIdentifier] }

        /// An entitlement by the developer's name.
        package func entitlement(_ lookupKey: String) -> Entitlement? {
            entitlements.first { $0.lookupKey == lookupKey }
        }
    }
}
