import Ledger

/// The parts of an app's configuration in which a developer may find a mistake.
package struct AppOverview: Hashable, Sendable {
    package var id: AppID
    package var bundleID: String
    package var isSimulated: Bool
    /// Products that the configuration names and the app's `.storekit` file does not contain. Nil
    /// if no such file is configured.
    package var unknownProducts: [ProductID]?
}

extension Context {
    package func overview(of appID: AppID) throws(EngineFailure) -> AppOverview {
        let (app, _) = try app(appID)
        return AppOverview(
            id: app.id, bundleID: app.bundleID, isSimulated: app.isSimulated,
            unknownProducts: app.soldProducts.map { app.namedProducts.subtracting($0).sorted() })
    }
}

extension AppSettings {
    /// The products that the configuration or the `.storekit` file names.
    package var knownProducts: Set<ProductID> {
        namedProducts.union(soldProducts ?? []).union(offers.products.keys)
    }

    /// The products that the configuration names.
    var namedProducts: Set<ProductID> {
        entitlements.values.reduce(listedProducts.union(terms.products.keys)) { $0.union($1) }
            .union(wallets.credits.keys)
            .union(content.items.flatMap(\.publication.products))
    }
}
