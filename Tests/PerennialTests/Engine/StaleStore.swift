import Perennial
import StoreKit
import Synchronization

/// A device's store that has outdated documents until the customer lets it fetch all documents
/// again.
final class StaleStore: DeviceStore {
    private let device: SimulatedDevice
    private let old: [StoreDocument]
    private let store = StoreKitStore()
    private let isFresh = Mutex(false)

    init(_ device: SimulatedDevice, has old: [StoreDocument]) {
        self.device = device
        self.old = old
    }

    func documents(_ list: StoreList) async -> [StoreDocument]? {
        guard isFresh.withLock({ $0 }) else { return list == .unfinished ? [] : old }
        return await SimulatedDevice.$current.withValue(device) { await store.documents(list) }
    }

    func sync() async throws(StoreError) {
        let result = await SimulatedDevice.$current.withValue(device) {
            () async -> Result<Void, StoreError> in
            do throws(StoreError) { return .success(try await store.sync()) } catch {
                return .failure(error)
            }
        }
        try result.get()
        isFresh.withLock { $0 = true }
    }

    func products(_ ids: [String]) async throws(StoreError) -> [StoreProduct] { [] }

    func purchase(
        _ product: String, _ options: StorePurchaseOptions, anchor: PurchaseAnchor?
    ) async throws(StoreError) -> StorePurchaseResult { throw .unreachable }

    func renewals(of groups: Set<String>) async -> [StoreRenewal]? { [] }
    func isEligibleForIntroductoryOffer(group: String) async -> Bool { false }
    func finish(_ documents: [StoreDocument]) async {}
    func appTransaction() async -> StoreDocument? { nil }
    func updates() -> AsyncStream<StoreUpdate> { AsyncStream { _ in } }
}
