internal import Perennial
internal import StoreKit

/// The SDK's own store on one simulated device. Any task may call it.
struct DeviceBoundStore: DeviceStore {
    let device: SimulatedDevice
    let life: KillSwitch
    private let time: MovingTime
    private let store = StoreKitStore()

    init(_ device: SimulatedDevice, _ life: KillSwitch, _ time: MovingTime) {
        self.device = device
        self.life = life
        self.time = time
    }

    private static let dead = StoreError.failed("dead")

    private func on<Value: Sendable>(_ body: () async -> Value) async -> Value {
        await SimulatedDevice.$current.withValue(device) { await body() }
    }

    /// Calls the store. The kill switch counts one point before the call and one point after it.
    private func trying<Value: Sendable>(
        _ body: @Sendable () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        guard await life.passOrStick() else { throw Self.dead }
        let result = await on { () -> Result<Value, StoreError> in
            do throws(StoreError) { return .success(try await body()) } catch {
                return .failure(error)
            }
        }
        await time.wait()
        guard await life.passOrStick() else { throw Self.dead }
        return try result.get()
    }

    private func reading<Value: Sendable>(
        else nothing: Value, _ body: () async -> Value
    ) async -> Value {
        guard await life.passOrStick() else { return nothing }
        let value = await on(body)
        await time.wait()
        return await life.passOrStick() ? value : nothing
    }

    func products(_ ids: [String]) async throws(StoreError) -> [StoreProduct] {
        try await trying { () throws(StoreError) in try await store.products(ids) }
    }

    func purchase(
        _ product: String, _ options: StorePurchaseOptions, anchor: PurchaseAnchor?
    ) async throws(StoreError) -> StorePurchaseResult {
        try await trying { () throws(StoreError) in
            try await store.purchase(product, options, anchor: anchor)
        }
    }

    func documents(_ list: StoreList) async -> [StoreDocument]? {
        await reading(else: nil) { await store.documents(list) }
    }

    func renewals(of groups: Set<String>) async -> [StoreRenewal]? {
        await reading(else: nil) { await store.renewals(of: groups) }
    }

    func isEligibleForIntroductoryOffer(group: String) async -> Bool {
        await reading(else: false) { await store.isEligibleForIntroductoryOffer(group: group) }
    }

    func finish(_ documents: [StoreDocument]) async {
        await reading(else: ()) { await store.finish(documents) }
    }

    func sync() async throws(StoreError) {
        try await trying { () throws(StoreError) in try await store.sync() }
    }

    func appTransaction() async -> StoreDocument? {
        await reading(else: nil) { await store.appTransaction() }
    }

    func updates() -> AsyncStream<StoreUpdate> {
        let updates = SimulatedDevice.$current.withValue(device) { store.updates() }
        return AsyncStream { continuation in
            let passing = Task {
                for await update in updates {
                    await time.wait()
                    continuation.yield(update)
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in passing.cancel() }
        }
    }
}
