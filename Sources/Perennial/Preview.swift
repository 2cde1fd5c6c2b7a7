internal import Foundation

/// The script of `Perennial.preview`. No call changes what is open.
struct Preview: Script {
    var snapshot: Perennial.Snapshot
    var offerings: [Perennial.Offering]
    var outcome: @Sendable (Perennial.ProductID) -> Perennial.Purchase.Outcome

    func refresh() {}

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

    func purchase(
        _ product: Perennial.ProductID, _ options: Perennial.PurchaseOptions
    ) -> Perennial.Purchase {
        Perennial.Purchase(outcome: outcome(product), product: product, snapshot: snapshot)
    }

    func advice(on product: Perennial.ProductID) -> Perennial.Advice {
        Perennial.Advice(product: product, buy: true)
    }

    var requests: AsyncStream<Perennial.PurchaseRequest> { AsyncStream { _ in } }

    func previewRestore() -> Perennial.RestorePreview { Perennial.RestorePreview(items: []) }

    func restore(_ shown: Perennial.RestorePreview?) -> Perennial.Restoration {
        Perennial.Restoration(
            outcome: .nothingFound, preview: previewRestore(), snapshot: snapshot)
    }

    func identify(_ customer: String) -> Perennial.Snapshot { snapshot }
    func signOut() -> Perennial.Snapshot { snapshot }
    func erase() {}
    func setAttributes(_ attributes: [Perennial.AttributeName: String?]) {}

    func spend(
        _ amount: Int, from wallet: Perennial.WalletID, key: UUID
    ) -> Perennial.Wallet {
        snapshot[wallet: wallet]
    }

    func explain(_ entitlement: Perennial.EntitlementID) -> Perennial.Explanation {
        Perennial.Explanation(
            access: snapshot[entitlement], rule: 0, steps: [])
    }

    func seats(of subscription: String) throws(Perennial.Failure) -> Perennial.SeatGroup {
        throw Self.noSeats
    }

    func inviteToSeat(
        of subscription: String, for invited: String?, within seconds: TimeInterval?
    ) throws(Perennial.Failure) -> Perennial.SeatInvitation {
        throw Self.noSeats
    }

    func withdrawInvitation(_ invitation: String, of subscription: String) {}

    func claimSeat(_ token: String) throws(Perennial.Failure) -> Perennial.Snapshot {
        throw Self.noSeats
    }

    func releaseSeat(_ claim: String) {}

    private static let noSeats = Perennial.Failure(
        "purchase_unknown", remedy: "A preview has no seats. Use a `ScriptedStore`.")
}

extension Perennial {
    /// Creates an instance for previews. The instance shows the given values, buys without a store,
    /// and never connects. For tests, use `ScriptedStore` of `PerennialTesting`, whose purchases
    /// open entitlements.
    ///
    /// - Parameters:
    ///   - access: the entitlements that are open. If `isKnown` is true, every other entitlement is
    ///     shut.
    ///   - isKnown: false shows the state before anything is known.
    ///   - offerings: the offerings for sale. The first one is the default.
    ///   - wallets: the wallets and their balances.
    ///   - purchase: the outcome of a purchase. A purchase changes no access.
    public static func preview(
        _ access: [EntitlementID: Access] = [:], isKnown: Bool = true,
        offerings: [Offering] = [], wallets: [WalletID: Wallet] = [:],
        purchase: @escaping @Sendable (ProductID) -> Purchase.Outcome = { _ in .bought }
    ) -> Perennial {
        let snapshot = Snapshot(
            customer: Customer(id: "preview", isAnonymous: true), access: access,
            wallets: wallets, areWalletsKnown: isKnown, isKnown: isKnown)
        return Perennial(
            playing: Preview(snapshot: snapshot, offerings: offerings, outcome: purchase),
            showing: snapshot, clock: SystemClock())
    }
}
