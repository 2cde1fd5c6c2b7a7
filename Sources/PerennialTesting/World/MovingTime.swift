internal import Foundation
internal import Synchronization

/// Delays the answers of the App Store and of the server to devices while the world's time moves.
/// Without the delay, a device could receive a time that its own clock has not reached yet.
final class MovingTime: Sendable {
    private struct State {
        var isMoving = false
        var waiters: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    func begin() { state.withLock { $0.isMoving = true } }

    /// Ends the delay. Idempotent.
    func stop() {
        let waiters = state.withLock { state in
            defer { state = State() }
            return state.waiters
        }
        for waiter in waiters { waiter() }
    }

    /// Returns when time stands still.
    func wait() async {
        await withCheckedContinuation { continuation in
            afterwards { continuation.resume() }
        }
    }

    /// Blocks the thread until time stands still. Use it only on a thread that has no other work.
    func block() {
        let over = DispatchSemaphore(value: 0)
        afterwards { over.signal() }
        over.wait()
    }

    private func afterwards(_ goOn: @escaping @Sendable () -> Void) {
        let isMoving = state.withLock { state in
            if state.isMoving { state.waiters.append(goOn) }
            return state.isMoving
        }
        if !isMoving { goOn() }
    }
}
