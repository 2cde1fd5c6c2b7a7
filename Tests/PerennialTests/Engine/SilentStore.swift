import Foundation
import Perennial
import PerennialContract

/// A store that answers at once and lists nothing.
struct SilentStore: DeviceStore {
    func products(_ ids: [String]) async throws(StoreError) -> [StoreProduct] { [] }

    func purchase(
        _ product: String, _ options: StorePurchaseOptions, anchor: PurchaseAnchor?
    ) async throws(StoreError) -> StorePurchaseResult { throw .unreachable }

    func documents(_ list: StoreList) async -> [StoreDocument]? { [] }
    func renewals(of groups: Set<String>) async -> [StoreRenewal]? { nil }
    func isEligibleForIntroductoryOffer(group: String) async -> Bool { false }
    func finish(_ documents: [StoreDocument]) async {}
    func sync() async throws(StoreError) {}
    func appTransaction() async -> StoreDocument? { nil }
    func updates() -> AsyncStream<StoreUpdate> { AsyncStream { _ in } }
}

/// A device whose clocks stand still.
struct StillClock: DeviceClock {
    static let noon = Timestamp(milliseconds: 1_795_694_400_000)

    func now() -> Timestamp { Self.noon }
    func monotonic() -> Int64 { 1_000_000 }
    func bootID() -> String { "boot" }

    /// Waits until the task is cancelled.
    func sleep(milliseconds: Int64) async throws {
        for await _ in AsyncStream<Void>(Void.self, { _ in }) {}
        throw CancellationError()
    }
}
