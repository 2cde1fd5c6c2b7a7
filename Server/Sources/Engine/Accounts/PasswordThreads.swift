import Dispatch
import Synchronization

/// Threads that do nothing but derive keys from passwords. Each derivation needs much time and
/// memory on purpose, so only few run at once, and not on the threads that serve requests.
final class PasswordThreads: Sendable {
    static let threadsCount = 2
    /// The maximum number of places. Further ones are refused.
    static let placesMax = 32
    /// The same for one address or network, so that nobody alone has all of them.
    static let placesOfNetworkMax = 4

    private struct State {
        var byNetwork: [String: Int] = [:]
        var count = 0
        var next = 0
    }

    private let queues = (0..<threadsCount).map {
        DispatchQueue(label: "perennial.passwords.\($0)")
    }
    private let state = Mutex(State())

    /// Reserves a place, in which derivations run or wait. It is free again when it is released.
    ///
    /// - Throws: ``EngineFailure/busy`` if too many places are taken.
    func reserve(for network: String) throws(EngineFailure) -> Place {
        let queue: Int? = state.withLock { state in
            guard state.count < Self.placesMax,
                state.byNetwork[network, default: 0] < Self.placesOfNetworkMax
            else { return nil }
            state.count += 1
            state.byNetwork[network, default: 0] += 1
            state.next = (state.next + 1) % Self.threadsCount
            return state.next
        }
        guard let queue else { throw .busy }
        return Place(self, queues[queue], network)
    }

    private func release(_ network: String) {
        state.withLock { state in
            state.count -= 1
            let rest = state.byNetwork[network, default: 0] - 1
            state.byNetwork[network] = rest > 0 ? rest : nil
        }
    }

    /// A reserved place.
    final class Place: Sendable {
        private let threads: PasswordThreads
        private let queue: DispatchQueue
        private let network: String
        private let isReleased = Atomic(false)

        fileprivate init(_ threads: PasswordThreads, _ queue: DispatchQueue, _ network: String) {
            self.threads = threads
            self.queue = queue
            self.network = network
        }

        deinit { release() }

        /// Idempotent.
        func release() {
            guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
            threads.release(network)
        }

        /// Runs a closure on one of the threads.
        ///
        /// - Throws: whatever the closure throws.
        func run<Value: Sendable>(
            _ body: @escaping @Sendable () throws -> Value
        ) async throws(EngineFailure) -> Value {
            let result: Result<Value, any Error> = await withCheckedContinuation { continuation in
                queue.async { continuation.resume(returning: Result { try body() }) }
            }
            do { return try result.get() } catch { throw EngineFailure(error) }
        }
    }
}
