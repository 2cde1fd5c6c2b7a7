import AppStoreFormats
import Synchronization

/// Who keeps the budgets of an app: asked before each call, told of each refusal.
package struct Pacing: Sendable {
    /// Takes one call out of a budget. Nil: it may go. Else: not before then.
    package let turn:
        @Sendable (Endpoint, StoreEnvironment, AppStoreDate) async throws
            -> AppStoreDate?
    /// Apple refuses this call until then.
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

    /// For a simulated app: its clock may stand still, and then no budget would ever fill again.
    package static let unlimited = Self(turn: { _, _, _ in nil }, rest: { _, _, _ in })

    /// For an app that only this process asks for.
    package static func inProcess() -> Self {
        let paces = Paces()
        return Self(turn: paces.take, rest: paces.rest)
    }

    /// The same for whoever has time, and nothing else to do meanwhile: each call waits for its
    /// turn, in the order in which they come.
    package static func patient(
        sleep: @escaping @Sendable (Duration) async throws -> Void = {
            try await Task.sleep(for: $0)
        }
    ) -> Self {
        let paces = Paces()
        return Self(
            turn: { endpoint, environment, now in
                var now = now
                for _ in 0..<restsMax {
                    let turn = paces.reserve(endpoint, environment, now)
                    try await sleep(.milliseconds(turn.milliseconds - now.milliseconds))
                    now = turn
                    guard let rest = paces.restEnd(endpoint, environment), rest > now else {
                        return nil
                    }
                }
                return paces.restEnd(endpoint, environment)
            }, rest: paces.rest)
    }

    /// Rests that Apple asks for while one call waits; after them it is refused.
    private static let restsMax = 20
}

/// The budgets of one app in this process.
private final class Paces: Sendable {
    private struct Place: Hashable {
        let endpoint: Endpoint
        let environment: StoreEnvironment
    }

    private let paces = Mutex<[Place: Pace]>([:])
    private let rests = Mutex<[Place: AppStoreDate]>([:])

    @Sendable func take(
        _ endpoint: Endpoint, _ environment: StoreEnvironment, _ now: AppStoreDate
    ) -> AppStoreDate? {
        let place = Place(endpoint: endpoint, environment: environment)
        return paces.withLock {
            $0[place, default: Pace()].take(endpoint.budget(in: environment), at: now)
        }
    }

    func reserve(
        _ endpoint: Endpoint, _ environment: StoreEnvironment, _ now: AppStoreDate
    ) -> AppStoreDate {
        let place = Place(endpoint: endpoint, environment: environment)
        return paces.withLock {
            $0[place, default: Pace()].reserve(endpoint.budget(in: environment), at: now)
        }
    }

    @Sendable func rest(
        _ endpoint: Endpoint, _ environment: StoreEnvironment, _ until: AppStoreDate
    ) {
        let place = Place(endpoint: endpoint, environment: environment)
        paces.withLock {
            $0[place, default: Pace()].rest(endpoint.budget(in: environment), until: until)
        }
        rests.withLock { $0[place] = max($0[place] ?? until, until) }
    }

    /// Until when Apple has asked for a rest at last, may be in the past.
    func restEnd(_ endpoint: Endpoint, _ environment: StoreEnvironment) -> AppStoreDate? {
        rests.withLock { $0[Place(endpoint: endpoint, environment: environment)] }
    }
}
