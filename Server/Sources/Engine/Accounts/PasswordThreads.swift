import Dispatch
import Synchronization

/// Threads that do nothing but derive keys from passwords. Each derivation needs much time and
/// memory on purpose, so only few run at once, and not on the threads that serve requests.
final class PasswordThreads: Sendable {
    static let threadsCount = 2
    /// The maximum number of derivations that run or wait. Further ones are refused.
    static let waitingMax = 32

    private struct State {
        var waiting = 0
        var next = 0
    }

    private let queues = (0..<threadsCount).map {
        DispatchQueue(label: "perennial.passwords.\($0)")
    }
    private let state = Mutex(State())

    /// Runs a closure on one of the threads.
    ///
    /// - Throws: ``EngineFailure/busy`` if too many wait, or whatever the closure throws.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws(EngineFailure) -> Value {
        let place: Int? = state.withLock { state in
            guard state.waiting < Self.waitingMax else { return nil }
            state.waiting += 1
            state.next = (state.next + 1) % Self.threadsCount
            return state.next
        }
        guard let place else { throw .busy }
        defer { state.withLock { $0.waiting -= 1 } }
        let result: Result<Value, any Error> = await withCheckedContinuation { continuation in
            queues[place].async { continuation.resume(returning: Result { try body() }) }
        }
        do { return try result.get() } catch { throw EngineFailure(error) }
    }
}
