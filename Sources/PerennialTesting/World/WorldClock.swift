internal import Perennial
internal import PerennialContract
internal import Synchronization

/// The clocks of a simulated device. The clocks stand still until the world's time moves.
final class WorldClock: DeviceClock {
    private struct State {
        var now = Timestamp(milliseconds: 0)
        var monotonic: Int64 = 0
        var bootID = ""
        var sleepers: [Int: Sleeper] = [:]
        var sleepersMade = 0
    }

    private struct Sleeper {
        let until: Int64
        let continuation: CheckedContinuation<Void, any Error>
    }

    private let state = Mutex(State())

    init() {}

    func now() -> Timestamp { state.withLock(\.now) }
    func monotonic() -> Int64 { state.withLock(\.monotonic) }
    func bootID() -> String { state.withLock(\.bootID) }

    func sleep(milliseconds: Int64) async throws {
        let (id, until) = state.withLock { state in
            state.sleepersMade += 1
            return (state.sleepersMade, state.monotonic + max(0, milliseconds))
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.monotonic >= until { return true }
                    state.sleepers[id] = Sleeper(until: until, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume() }
                // The task may have been cancelled before the sleeper was in the list.
                if Task.isCancelled { resume(id, by: CancellationError()) }
            }
        } onCancel: {
            resume(id, by: CancellationError())
        }
    }

    private func resume(_ id: Int, by failure: any Error) {
        let sleeper = state.withLock { $0.sleepers.removeValue(forKey: id) }
        sleeper?.continuation.resume(throwing: failure)
    }

    /// Moves the clocks, and resumes the sleepers whose time is over.
    func set(now: Timestamp, monotonic: Int64, bootID: String) {
        let awake = state.withLock { state in
            // A restarted device counts from zero, so no sleeper continues after a restart.
            let isRestarted = state.bootID != bootID && !state.bootID.isEmpty
            state.now = now
            state.monotonic = monotonic
            state.bootID = bootID
            let over = state.sleepers.filter { isRestarted || $0.value.until <= monotonic }
            for id in over.keys { state.sleepers[id] = nil }
            return over.values.sorted { $0.until < $1.until }
        }
        for sleeper in awake { sleeper.continuation.resume() }
    }
}
