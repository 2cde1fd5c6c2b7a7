import AppStoreFormats
import Synchronization

/// Limits the calls of an app. The client asks the limiter before each call, and tells the limiter
/// if Apple refused a call.
package struct RateLimiter: Sendable {
    /// Takes one call from a budget and returns nil. If the budget is used up, takes nothing, and
    /// returns when to try again.
    package let turn:
        @Sendable (Endpoint, StoreEnvironment, AppStoreDate) async throws
            -> AppStoreDate?
    /// Records that Apple refuses calls of this kind until a moment.
    package let rest: @Sendable (Endpoint, StoreEnvironment, AppStoreDate) async throws -> Void

    package init(
        turn:
            @escaping @Sendable (Endpoint, StoreEnvironment, AppStoreDate) async throws
            -> AppStoreDate?,
        rest: @escaping @Sendable (Endpoint, StoreEnvironment, AppStoreDate) async throws -> Void
    ) {
        self.turn = turn
        self.rest = rest
    }

    /// Limits nothing. Meant for a simulated app: its clock may stand still, and a budget would
    /// then never refill.
    package static let unlimited = Self(turn: { _, _, _ in nil }, rest: { _, _, _ in })

    /// Limits for an app whose calls are all made by this process.
    package static func inProcess() -> Self {
        let paces = ProcessPaces()
        return Self(turn: paces.consumeCall, rest: paces.pause)
    }

    /// Limits for callers that can wait: each call waits until it is allowed, in the order of
    /// arrival.
    package static func waiting(
        sleep: @escaping @Sendable (Duration) async throws -> Void = {
            try await Task.sleep(for: $0)
        }
    ) -> Self {
        let paces = ProcessPaces()
        return Self(
            turn: { endpoint, environment, now in
                var now = now
                for _ in 0..<restsMax {
                    let turn = paces.reserve(endpoint, environment, now)
                    try await sleep(.milliseconds(turn.milliseconds - now.milliseconds))
                    now = turn
                    guard let rest = paces.pauseEnd(endpoint, environment), rest > now else {
                        return nil
                    }
                }
                return paces.pauseEnd(endpoint, environment)
            }, rest: paces.pause)
    }

    /// The maximum number of pauses that one call waits for. After them, the call is refused.
    private static let restsMax = 20
}

/// The call budgets of one app in this process.
private final class ProcessPaces: Sendable {
    private struct BudgetKey: Hashable {
        let endpoint: Endpoint
        let environment: StoreEnvironment
    }

    private let paces = Mutex<[BudgetKey: Pace]>([:])
    private let rests = Mutex<[BudgetKey: AppStoreDate]>([:])

    @Sendable func consumeCall(
        _ endpoint: Endpoint, _ environment: StoreEnvironment, _ now: AppStoreDate
    ) -> AppStoreDate? {
        let place = BudgetKey(endpoint: endpoint, environment: environment)
        return paces.withLock {
            $0[place, default: Pace()].consumeCall(endpoint.budget(in: environment), at: now)
        }
    }

    func reserve(
        _ endpoint: Endpoint, _ environment: StoreEnvironment, _ now: AppStoreDate
    ) -> AppStoreDate {
        let place = BudgetKey(endpoint: endpoint, environment: environment)
        return paces.withLock {
            $0[place, default: Pace()].reserve(endpoint.budget(in: environment), at: now)
        }
    }

    @Sendable func pause(
        _ endpoint: Endpoint, _ environment: StoreEnvironment, _ until: AppStoreDate
    ) {
        let place = BudgetKey(endpoint: endpoint, environment: environment)
        paces.withLock {
            $0[place, default: Pace()].pause(endpoint.budget(in: environment), until: until)
        }
        rests.withLock { $0[place] = max($0[place] ?? until, until) }
    }

    /// The end of the last pause that Apple requested. May be in the past.
    func pauseEnd(_ endpoint: Endpoint, _ environment: StoreEnvironment) -> AppStoreDate? {
        rests.withLock { $0[BudgetKey(endpoint: endpoint, environment: environment)] }
    }
}
