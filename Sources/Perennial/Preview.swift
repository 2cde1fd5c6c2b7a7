internal import AccessRules
internal import Foundation
internal import PerennialContract

/// What `Perennial.preview` plays.
struct Preview: Sendable {
    var offerings: [Perennial.Offering]
    var outcome: @Sendable (Perennial.ProductID) -> Perennial.Purchase.Outcome

    func purchase(_ product: Perennial.ProductID, _ perennial: Perennial) -> Perennial.Purchase {
        Perennial.Purchase(
            outcome: outcome(product), product: product, snapshot: perennial.snapshot)
    }

    func offering(
        _ placement: Perennial.PlacementID?
    ) throws(Perennial.Failure) -> Perennial.Offering {
        let found =
            placement.map { id in offerings.first { $0.id == id.rawValue } } ?? offerings.first
        guard let found else {
            throw Perennial.Failure(
                "placement_unknown", remedy: "Pass an offering to `Perennial.preview`.")
        }
        return found
    }

    func products(_ ids: [Perennial.ProductID]) -> [Perennial.Product] {
        let all = offerings.flatMap(\.products)
        return ids.compactMap { id in all.first { $0.id == id } }
    }
}

extension Perennial {
    /// For previews and unit tests: says what it is told, buys without a store, never connects.
    ///
    /// - Parameters:
    ///   - access: what is open. An entitlement that is not among it is shut.
    ///   - offerings: what is for sale. The first one is the default.
    ///   - wallets: what is in them.
    ///   - purchase: what becomes of a purchase. It changes no access.
    public static func preview(
        _ access: [EntitlementID: Access] = [:], offerings: [Offering] = [],
        wallets: [WalletID: Wallet] = [:],
        purchase: @escaping @Sendable (ProductID) -> Purchase.Outcome = { _ in .bought }
    ) -> Perennial {
        let snapshot = Snapshot(
            customer: Customer(id: "preview", isAnonymous: true), access: access,
            wallets: wallets)
        return Perennial(
            preview: Preview(offerings: offerings, outcome: purchase),
            picture: Picture(fixed: snapshot))
    }
}
