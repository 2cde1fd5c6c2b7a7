import Engine
import Hummingbird
import Ledger
import NIOCore
import PerennialContract
import ServiceLifecycle
import Synchronization

/// How long and how many requests may wait for a change (`?wait=25`): of a customer, or of the log.
final class CustomerWait: Sendable {
    /// The range of `wait`, in seconds. Many proxies cut a connection that is silent for longer.
    static let secondsRange = 1...60
    /// The maximum number of requests that wait at one time.
    static let waitsMax = 1_000
    /// The pause between two looks: what other servers write, and what time alone
    /// changes, is noticed after at most this time.
    static let lookPause = Duration.seconds(1)

    private let waitsMax: Int
    private let count = Mutex(0)

    init(waitsMax: Int = CustomerWait.waitsMax) { self.waitsMax = waitsMax }

    /// Runs a closure as one of the waiting requests.
    ///
    /// - Throws: ``ProblemError`` if too many requests wait already.
    func reserve<Value>(_ body: () async throws -> Value) async throws -> Value {
        let isFull = count.withLock { count in
            guard count < waitsMax else { return true }
            count += 1
            return false
        }
        guard !isFull else { throw ProblemError(.tooManyWaits) }
        defer { count.withLock { $0 -= 1 } }
        return try await body()
    }

    var waitingCount: Int { count.withLock { $0 } }
}

extension PerennialServer {
    /// Parses `wait`. Returns nil if the request does not have it.
    static func wait(in request: Request) throws -> Duration? {
        guard let text = request.uri.queryParameters["wait"] else { return nil }
        guard let seconds = Int(text), CustomerWait.secondsRange.contains(seconds) else {
            throw ProblemError(.waitOutOfRange(CustomerWait.secondsRange))
        }
        return .seconds(seconds)
    }

    /// Waits until the answer about a customer is another one, and returns it. Returns nil if it
    /// does not change in time, if the connection is closed, or if the server is about to stop.
    ///
    /// - Parameter state: the customer as last read.
    /// - Parameter isKnown: whether the client has an answer already.
    func changedAnswer(
        about state: CustomerState, within limit: Duration, for holder: StoredKey,
        _ context: ServerContext, isKnown: @Sendable (Customer) throws -> Bool
    ) async throws -> Customer? {
        let signals = engine.changeSignals(of: state, app: holder.app)
        return try await firstValue(after: signals, within: limit, context) {
            let now = try await engine.currentState(
                of: state.id, app: holder.app, environment: state.environment)
            let answer = try await customer(in: now, for: holder)
            return try isKnown(answer) ? nil : answer
        }
    }

    /// Refuses an answer to a request that has waited if its key has ended since.
    func requireKey(after waiting: Request) async throws {
        _ = try await holder(of: waiting, for: .read)
    }

    /// Looks at once, after each signal, and after each pause, until there is a value. Returns nil
    /// if there is none in time, if the connection is closed, or if the server is about to stop.
    ///
    /// - Parameter signals: finished at the end.
    func firstValue<Value: Sendable>(
        after signals: (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation),
        within limit: Duration, _ context: ServerContext,
        _ value: () async throws -> Value?
    ) async throws -> Value? {
        let end = ContinuousClock.now + limit
        let looks = signals.continuation
        context.channel.closeFuture.whenComplete { _ in looks.finish() }
        return try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer {
                    looks.finish()
                    group.cancelAll()
                }
                group.addTask { await Self.yieldLooks(to: looks, until: end) }
                // Something may have changed before the signals began.
                looks.yield()
                for await _ in signals.stream {
                    if let found = try await value() { return found }
                }
                return nil
            }
        } onGracefulShutdown: {
            looks.finish()
        }
    }

    /// Yields after each pause, and finishes at the end of the wait.
    static func yieldLooks(
        to looks: AsyncStream<Void>.Continuation, until end: ContinuousClock.Instant
    ) async {
        while ContinuousClock.now < end {
            let next = min(end, ContinuousClock.now + CustomerWait.lookPause)
            do { try await Task.sleep(until: next) } catch { break }
            looks.yield()
        }
        looks.finish()
    }
}
