import AppStoreFormats
import Synchronization

/// The simulator's time, readable from any thread. The clock stands still until it is set or moved,
/// or runs at a multiple of real time. The clock moves back only when the world is reset.
package final class VirtualClock: Sendable {
    /// Maximum virtual seconds per real second: about a year in ten minutes.
    package static let rateMax = 100_000.0

    private struct State {
        var base: Int64
        var since: ContinuousClock.Instant
        var rate: Double
    }

    private let state: Mutex<State>

    package init(_ now: AppStoreDate) {
        state = Mutex(State(base: now.milliseconds, since: .now, rate: 0))
    }

    /// Milliseconds since 1970.
    package var milliseconds: Int64 { state.withLock { Self.reading($0) } }

    package var now: AppStoreDate { AppStoreDate(milliseconds: milliseconds) }

    /// Virtual seconds per real second; zero if the clock is stopped.
    package var rate: Double { state.withLock(\.rate) }

    /// Moves the clock forward to a moment. Does nothing if the clock shows this or a later time.
    func advance(to moment: AppStoreDate) {
        state.withLock { state in
            guard moment.milliseconds > Self.reading(state) else { return }
            state.base = moment.milliseconds
            state.since = .now
        }
    }

    func run(rate: Double) {
        state.withLock { state in
            state = State(base: Self.reading(state), since: .now, rate: rate)
        }
    }

    /// Sets the clock of a new world, and stops it.
    func reset(to moment: AppStoreDate) {
        state.withLock { state in
            state = State(base: moment.milliseconds, since: .now, rate: 0)
        }
    }

    private static func reading(_ state: State) -> Int64 {
        guard state.rate > 0 else { return state.base }
        let elapsed = ContinuousClock.now - state.since
        return state.base + Int64(elapsed / .milliseconds(1) * state.rate)
    }
}
