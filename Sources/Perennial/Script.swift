package import Foundation

/// Replaces the engine, so that an app can be shown and tested without a server and a store.
/// `Perennial.preview` and the scripted store of `PerennialTesting` use it.
package protocol Script: Sendable {
    func refresh() async throws(Perennial.Failure)
    func offering(
        _ placement: Perennial.PlacementID?
    ) async throws(Perennial.Failure) -> Perennial.Offering
    /// The products with these ids, without products that the script does not know.
    func products(
        _ ids: [Perennial.ProductID]
    ) async throws(Perennial.Failure) -> [Perennial.Product]

    func purchase(
        _ product: Perennial.ProductID, _ options: Perennial.PurchaseOptions
    ) async throws(Perennial.Failure) -> Perennial.Purchase
    func advice(on product: Perennial.ProductID) -> Perennial.Advice
    var requests: AsyncStream<Perennial.PurchaseRequest> { get }

    func previewRestore() async throws(Perennial.Failure) -> Perennial.RestorePreview
    /// - Parameter shown: the preview that the customer agreed to. Nil if the app has shown none.
    func restore(
        _ shown: Perennial.RestorePreview?
    ) async throws(Perennial.Failure) -> Perennial.Restoration

    func identify(_ customer: String) async throws(Perennial.Failure) -> Perennial.Snapshot
    func signOut() -> Perennial.Snapshot
    func erase() async throws(Perennial.Failure)
    /// Sets attributes whose names and values are valid. Nil deletes an attribute.
    func setAttributes(_ attributes: [Perennial.AttributeName: String?])

    func spend(
        _ amount: Int, from wallet: Perennial.WalletID, key: UUID
    ) async throws(Perennial.Failure) -> Perennial.Wallet
    func explain(_ entitlement: Perennial.EntitlementID) -> Perennial.Explanation

    func seats(of subscription: String) async throws(Perennial.Failure) -> Perennial.SeatGroup
    func inviteToSeat(
        of subscription: String, for invited: String?, within seconds: TimeInterval?
    ) async throws(Perennial.Failure) -> Perennial.SeatInvitation
    func withdrawInvitation(
        _ invitation: String, of subscription: String
    ) async throws(Perennial.Failure)
    func claimSeat(_ token: String) async throws(Perennial.Failure) -> Perennial.Snapshot
    func releaseSeat(_ claim: String) async throws(Perennial.Failure)
}

extension Perennial {
    /// The source that the SDK can ask.
    enum Part: Sendable {
        case engine(Engine)
        case script(any Script)
    }
}
