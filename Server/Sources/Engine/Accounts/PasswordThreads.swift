import Dispatch
import Synchronization

/// Threads that only derive keys from passwords. Each derivation deliberately needs much time and
/// memory, so only few run at once, and not on the threads that serve requests.
final class PasswordThreads: Sendable {
    static let threadsCount = 2
    /// The maximum number of places for unknown people. Each derivation needs a place while it
    /// waits or runs. If all places are taken, further requests are refused.
    static let placesMax = 32
    /// The maximum number of places for known people. Known people have a separate thread, so that
    /// strangers cannot delay them.
    static let placesOfKnownMax = 8
    /// The maximum number of places for one address or network, so that one client cannot occupy
    /// all of them.
    static let placesOfNetworkMax = 4

    private struct State {
        var byNetwork: [String: Int] = [:]
        var count = 0
        var countOfKnown = 0
        var next = 0
    }

    private let queues = (0...threadsCount).map {
        DispatchQueue(label: "perennial.passwords.\($0)")
    }
    private let state = Mutex(State())

    /// Reserves a place, in which derivations run or wait. The place is taken until the caller
    /// releases it.
    ///
    /// - Parameter isKnown: whether the person is known: by a session, by a link, or by a recent
    ///   sign-in from the network.
    /// - Throws: ``EngineFailure/busy`` if too many places are taken.
    func reserve(
        for network: String, isKnown: Bool = false
    ) throws(EngineFailure) -> Place {
        let queue: Int? = state.withLock { state in
            guard state.byNetwork[network, default: 0] < Self.placesOfNetworkMax,
                isKnown
                    ? state.countOfKnown < Self.placesOfKnownMax : state.count < Self.placesMax
            else { return nil }
            state.byNetwork[network, default: 0] += 1
            if isKnown {
                state.countOfKnown += 1
                return Self.threadsCount
            }
            state.count += 1
            state.next = (state.next + 1) % Self.threadsCount
            return state.next
        }
        guard let queue else { throw .busy }
        return Place(self, queues[queue], network, isKnown: isKnown)
    }

    private func release(_ network: String, isKnown: Bool) {
        state.withLock { state in
            if isKnown { state.countOfKnown -= 1 } else { state.count -= 1 }
            let rest = state.byNetwork[network, default: 0] - 1
            state.byNetwork[network] = rest > 0 ? rest : nil
        }
    }

    /// A reserved place.
    final class Place: Sendable {
        private let threads: PasswordThreads
        private let queue: DispatchQueue
        private let network: String
        private let isKnown: Bool
        private let isReleased = Atomic(false)

        fileprivate init(
            _ threads: PasswordThreads, _ queue: DispatchQueue, _ network: String, isKnown: Bool
        ) {
            self.threads = threads
            self.queue = queue
            self.network = network
            self.isKnown = isKnown
        }

        deinit { release() }

        /// Makes the place free for others. Idempotent.
        func release() {
            guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
            threads.release(network, isKnown: isKnown)
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
