internal import Synchronization

/// Ends the app's process at one of the points at which the app communicates with the store or the
/// server. After that point, no request of the app is answered.
final class KillSwitch: Sendable {
    private struct State {
        var passed = 0
        var diesAt: Int?
        var isDead = false
        var wasKilled = false
        /// Whether the device has removed the process.
        var isBuried = false
        var stuck: [CheckedContinuation<Void, Never>] = []
        var mourners: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Whether the process ended at the requested point.
    var wasKilled: Bool { state.withLock(\.wasKilled) }

    var isBuried: Bool { state.withLock(\.isBuried) }

    /// Begins to count points. The process ends at the point with this number, from 1.
    func arm(at point: Int) {
        state.withLock { state in
            state.passed = 0
            state.diesAt = point
        }
    }

    /// Counts a point. Returns whether the process is still alive after this point.
    func pass() -> Bool {
        let (lives, mourners) = state.withLock { state in
            state.passed += 1
            if state.passed == state.diesAt, !state.isDead {
                state.isDead = true
                state.wasKilled = true
            }
            let mourners = state.isDead ? state.mourners : []
            if state.isDead { state.mourners = [] }
            return (!state.isDead, mourners)
        }
        for mourner in mourners { mourner.resume() }
        return lives
    }

    /// Counts a point, as ``pass()`` does. If the process is not alive any more, waits until it is
    /// removed.
    func passOrStick() async -> Bool {
        if pass() { return true }
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.isBuried { return true }
                state.stuck.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
        return false
    }

    /// Returns when the process has ended.
    func untilDead() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.isDead { return true }
                state.mourners.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// Resumes all callers that wait, and marks the process as removed.
    func bury() {
        let waiting = state.withLock { state in
            state.isDead = true
            state.isBuried = true
            defer { (state.stuck, state.mourners) = ([], []) }
            return state.stuck + state.mourners
        }
        for continuation in waiting { continuation.resume() }
    }
}
