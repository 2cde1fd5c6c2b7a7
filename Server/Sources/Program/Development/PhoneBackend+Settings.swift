import Engine
import Ledger

extension PhoneBackend {
    /// The clients of the simulator and server, and the entitlements of each product.
    struct Settings: Sendable {
        var simulator: LoopbackClient
        /// The client with the app key, which stands for the app on the phone.
        var app: LoopbackClient
        /// The client with the secret key, which stands for the developer's own server.
        var secret: LoopbackClient
        /// The products that give each entitlement.
        var entitlements: [String: Set<String>]
        /// The currency that a consumable credits, by product.
        var currencies: [String: String]

        init(
            _ settings: AppSettings, simulator: LoopbackClient, app: LoopbackClient,
            secret: LoopbackClient
        ) {
            (self.simulator, self.app, self.secret) = (simulator, app, secret)
            entitlements = Dictionary(
                uniqueKeysWithValues: settings.entitlements.map { right, products in
                    (right.rawValue, Set(products.map(\.rawValue)))
                })
            currencies = Dictionary(
                uniqueKeysWithValues: settings.wallets.credits.compactMap { product, credits in
                    credits.keys.map(\.rawValue).min().map { (product.rawValue, $0) }
                })
        }

        /// The entitlement of a product that the fewest other products give. If there are several
        /// such entitlements, the first one by name.
        func chiefEntitlement(of product: String) -> String? {
            let own = entitlements.filter { $0.value.contains(product) }
            return own.min { ($0.value.count, $0.key) < ($1.value.count, $1.key) }?.key
        }
    }
}
