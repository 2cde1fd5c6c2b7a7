import Foundation
import Synchronization

/// Looks up the addresses of hosts, on separate threads.
///
/// The system's resolver cannot be interrupted: if a name server does not answer, a lookup takes 20
/// seconds or more. So each host has one lookup at a time, shared by all its callers, and a caller
/// can stop waiting for it. A lookup continues until the resolver returns. Then the thread begins
/// the lookup that has waited longest. A lookup without waiting callers is not begun.
package final class HostLookups: Sendable {
    /// The maximum number of concurrent lookups. Each is of another host, on a separate thread.
    package static let threadsMax = 16
    /// The maximum number of callers that wait at one time, for all hosts together.
    package static let waitersMax = 4_096

    /// The lookup had not begun: all threads were looking up other hosts, or too many callers
    /// waited. This error says nothing about the host.
    package struct NotBegun: Error, Hashable {
        package init() {}
    }

    private typealias Waiter = CheckedContinuation<[IPAddress], any Error>

    private struct State {
        var waiters: [String: [Int: Waiter]] = [:]
        /// The hosts that are being looked up.
        var running: Set<String> = []
        /// The hosts that wait for a thread, in order of arrival.
        var queue: [String] = []
        var waiterCount = 0
        var lastID = 0
    }

    private let threadsMax: Int
    private let waitersMax: Int
    private let resolve: @Sendable (String) throws -> [IPAddress]
    private let state = Mutex(State())

    /// - Parameter resolve: returns all addresses of a host. May block its thread.
    package init(
        threadsMax: Int = threadsMax, waitersMax: Int = waitersMax,
        resolve: @escaping @Sendable (String) throws -> [IPAddress] = { try HostRules.resolve($0) }
    ) {
        self.threadsMax = threadsMax
        self.waitersMax = waitersMax
        self.resolve = resolve
    }

    /// The number of callers that wait for a lookup.
    var waiterCount: Int { state.withLock { $0.waiterCount } }

    /// Returns all addresses of a host. If `host` is an IP address, nothing is looked up. Returns
    /// at once if the task is cancelled.
    ///
    /// - Throws: ``NotBegun``, `CancellationError` if the task is cancelled while the lookup is
    ///   under way, or what the resolver throws.
    package func addresses(of host: String) async throws -> [IPAddress] {
        if let address = IPAddress(host) { return [address] }
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                add(waiter, id, host)
                // If the task was cancelled earlier, its cancellation handler found no caller to
                // remove.
                if Task.isCancelled { remove(id, host) }
            }
        } onCancel: {
            remove(id, host)
        }
    }

    private func add(_ waiter: Waiter, _ id: Int, _ host: String) {
        let (isFull, needsThread) = state.withLock { state in
            guard state.waiterCount < waitersMax else { return (true, false) }
            state.waiterCount += 1
            state.waiters[host, default: [:]][id] = waiter
            guard !state.running.contains(host), !state.queue.contains(host) else {
                return (false, false)
            }
            guard state.running.count < threadsMax else {
                state.queue.append(host)
                return (false, false)
            }
            state.running.insert(host)
            return (false, true)
        }
        if isFull { waiter.resume(throwing: NotBegun()) }
        if needsThread {
            Thread.detachNewThread { self.run(from: host) }
        }
    }

    /// Ends a caller's wait. Does nothing if the wait has already ended.
    private func remove(_ id: Int, _ host: String) {
        let found = state.withLock { state -> (waiter: Waiter, isRunning: Bool)? in
            guard let waiter = state.waiters[host]?.removeValue(forKey: id) else { return nil }
            state.waiterCount -= 1
            if state.waiters[host]?.isEmpty == true {
                state.waiters[host] = nil
                state.queue.removeAll { $0 == host }
            }
            return (waiter, state.running.contains(host))
        }
        guard let found else { return }
        found.waiter.resume(throwing: found.isRunning ? CancellationError() : NotBegun())
    }

    /// Looks up one host after another, until none waits.
    private func run(from first: String) {
        var next: String? = first
        while let host = next {
            let result = Result { try resolve(host) }
            let waiters: [Waiter]
            (waiters, next) = state.withLock { state in
                let waiters = state.waiters.removeValue(forKey: host).map { Array($0.values) } ?? []
                state.waiterCount -= waiters.count
                state.running.remove(host)
                guard !state.queue.isEmpty else { return (waiters, nil) }
                let next = state.queue.removeFirst()
                state.running.insert(next)
                return (waiters, next)
            }
            for waiter in waiters { waiter.resume(with: result) }
        }
    }
}
