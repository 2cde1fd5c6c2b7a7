import Foundation
import PerennialContract

@testable import Perennial

/// Clocks of a device that move only when a test says so.
final class VirtualClock: DeviceClock {
    private struct State {
        var elapsed: Int64 = 0
        var sleepers: [Int: Sleeper] = [:]
        var sleepersMade = 0
    }

    private struct Sleeper: Sendable {
        var until: Int64
        var continuation: CheckedContinuation<Void, any Error>
    }

    /// The time at which the clock begins: noon.
    static let start = Timestamp(milliseconds: 1_798_027_200_000)
    private static let startMonotonic: Int64 = 1_000_000

    private let state = Locked(State())

    var elapsed: Int64 { state.withLock { $0.elapsed } }

    func now() -> Timestamp { Timestamp(milliseconds: Self.start.milliseconds + elapsed) }
    func monotonic() -> Int64 { Self.startMonotonic + elapsed }
    /// Always 0, so that the speed of the machine does not matter.
    func machine() -> Int64 { 0 }
    func bootID() -> String { "boot" }

    func sleep(milliseconds: Int64) async throws {
        let (id, until) = state.withLock { state in
            state.sleepersMade += 1
            return (state.sleepersMade, state.elapsed + max(0, milliseconds))
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.elapsed >= until { return true }
                    state.sleepers[id] = Sleeper(until: until, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume() }
                // The sleep may have been cancelled before it was added to the list.
                if Task.isCancelled { end(id) }
            }
        } onCancel: {
            end(id)
        }
    }

    private func end(_ id: Int) {
        let sleeper = state.withLock { $0.sleepers.removeValue(forKey: id) }
        sleeper?.continuation.resume(throwing: CancellationError())
    }

    /// The number of sleeps so far.
    var sleepersMade: Int { state.withLock { $0.sleepersMade } }

    /// The milliseconds until the next sleep ends. Nil if no task sleeps.
    var nextWake: Int64? {
        state.withLock { state in
            state.sleepers.values.map(\.until).min().map { $0 - state.elapsed }
        }
    }

    /// Moves the clocks, and ends the sleeps that are over.
    func advance(milliseconds: Int64) {
        let awake = state.withLock { state in
            state.elapsed += milliseconds
            let over = state.sleepers.filter { $0.value.until <= state.elapsed }
            for id in over.keys { state.sleepers[id] = nil }
            return over.values.sorted { $0.until < $1.until }
        }
        for sleeper in awake { sleeper.continuation.resume() }
    }
}

/// The error of a test whose condition did not hold.
struct NeverCame: Error, CustomStringConvertible {
    var description: String
}

/// Waits until a condition holds that other tasks make true.
func eventually(
    _ what: String, within seconds: Double = 60, _ isSo: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < end {
        if try await isSo() { return }
        try await Task.sleep(for: .milliseconds(2))
    }
    guard try await isSo() else {
        throw NeverCame(description: "\(what): not within \(seconds) seconds")
    }
}
