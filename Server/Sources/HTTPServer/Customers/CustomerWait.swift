import Engine
import Hummingbird
import Ledger
import NIOCore
import PerennialContract
import ServiceLifecycle
import Storage
import Synchronization

/// The limits of requests that wait for a change.
package struct WaitLimits: Hashable, Sendable {
    /// The maximum number of requests that wait at one time.
    package var waitsMax = 1_000
    /// The maximum number of waiting requests with app keys, which anyone can extract from an app.
    /// Only requests with secret keys can use the rest of ``waitsMax``.
    package var waitsWithAppKeysMax = 800
    /// The maximum number of waiting requests with one key.
    package var waitsOfKeyMax = 500
    /// The longest wait, even if the client asks for more. HAProxy on Debian ends a request without
    /// a response after 50 seconds, and nginx after 60.
    package var holdMax = Duration.seconds(45)

    package init() {}
}

/// Counts the requests that wait for a change of a customer or of the log (`?wait=25`).
final class CustomerWait: Sendable {
    /// The range of `wait`, in seconds.
    static let secondsRange = 1...60
    /// The pause between two checks. The writes of other servers, and changes that only time
    /// causes, are noticed after at most this time.
    static let lookPause = Duration.seconds(1)

    private struct State {
        var count = 0
        var countWithAppKeys = 0
        var byKey: [[UInt8]: Int] = [:]
        /// How many times the configuration was replaced.
        var replacements = 0
    }

    let limits: WaitLimits
    private let refusals: LimitRefusals
    private let state = Mutex(State())

    init(_ limits: WaitLimits, _ refusals: LimitRefusals) {
        (self.limits, self.refusals) = (limits, refusals)
    }

    /// Runs a closure, and counts it as one of the waiting requests.
    ///
    /// - Parameter holder: the key of the request.
    /// - Throws: ``ProblemError`` if too many requests already wait: with this key, with app keys,
    ///   or in total.
    func reserve<Value>(
        for holder: StoredKey, _ body: () async throws -> Value
    ) async throws -> Value {
        switch admission(of: holder) {
        case .admitted: break
        case .keyIsFull:
            let most = limits.waitsOfKeyMax
            refusals.record(.waitsOfKey, max: most, of: holder.limitedName)
            throw ProblemError(.waitsOfKey, max: most)
        case .serverIsFull: throw ProblemError(.tooManyWaits)
        }
        defer { release(holder) }
        return try await body()
    }

    private enum Admission { case admitted, keyIsFull, serverIsFull }

    /// Counts a wait, unless too many requests already wait.
    private func admission(of holder: StoredKey) -> Admission {
        state.withLock { state in
            let isApp = holder.kind == .app
            guard state.byKey[holder.hash, default: 0] < limits.waitsOfKeyMax else {
                return .keyIsFull
            }
            guard state.count < limits.waitsMax,
                !isApp || state.countWithAppKeys < limits.waitsWithAppKeysMax
            else { return .serverIsFull }
            state.count += 1
            state.countWithAppKeys += isApp ? 1 : 0
            state.byKey[holder.hash, default: 0] += 1
            return .admitted
        }
    }

    private func release(_ holder: StoredKey) {
        state.withLock { state in
            state.count -= 1
            state.countWithAppKeys -= holder.kind == .app ? 1 : 0
            let rest = state.byKey[holder.hash, default: 0] - 1
            state.byKey[holder.hash] = rest > 0 ? rest : nil
        }
    }

    var waitingCount: Int { state.withLock { $0.count } }

    /// Ends the waits of all requests, because the configuration is replaced. The clients send
    /// their requests again, and the new configuration answers them.
    ///
    /// - Returns: the number of the new configuration.
    func releaseAll() -> Int {
        state.withLock { state in
            state.replacements += 1
            return state.replacements
        }
    }

    /// How many times the configuration was replaced since the start. The number identifies the
    /// current configuration.
    var configuration: Int { state.withLock { $0.replacements } }
}

extension CustomerRoutes {
    /// Waits until the answer about a customer changes, and returns the new answer. Returns nil if
    /// the answer does not change in time, if the client disconnects, or if the server is about to
    /// stop.
    ///
    /// - Parameter state: the customer as last read.
    /// - Parameter isKnown: whether the client already has an answer.
    func changedAnswer(
        about state: CustomerState, within limit: Duration, for holder: StoredKey,
        _ context: ServerContext, isKnown: @Sendable (Customer) throws -> Bool
    ) async throws -> Customer? {
        let signals = engine.customers.changeSignals(of: state, app: holder.app)
        return try await server.firstValue(after: signals, within: limit, context) {
            let now = try await engine.customers.currentState(
                of: state.id, app: holder.app, environment: state.environment)
            let answer = try await server.answers.customer(in: now, for: holder)
            return try isKnown(answer) ? nil : answer
        }
    }
}

extension RequestAuthorization {
    /// Throws if the key of a request has expired while the request waited.
    func requireKey(after waiting: Request) async throws {
        _ = try await holder(of: waiting, for: .read)
    }
}

extension PerennialServer {
    /// Calls a closure immediately, after each signal, and after each pause, until it returns a
    /// value. Returns nil if there is no value in time, if the client disconnects, if the server is
    /// about to stop, or if another configuration comes into force.
    ///
    /// - Parameter signals: a sequence that is finished when the wait ends.
    func firstValue<Value: Sendable>(
        after signals: (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation),
        within limit: Duration, _ context: ServerContext,
        _ value: () async throws -> Value?
    ) async throws -> Value? {
        let end = ContinuousClock.now + min(limit, waits.limits.holdMax)
        let wakeUps = signals.continuation
        context.channel.onDeparture { wakeUps.finish() }
        return try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer {
                    wakeUps.finish()
                    group.cancelAll()
                }
                group.addTask { await Self.yieldPeriodically(to: wakeUps, until: end) }
                // This first wake-up covers changes that were made before the signals began.
                wakeUps.yield()
                for await _ in signals.stream {
                    // An answer of the former configuration must not follow an answer of the new
                    // one.
                    guard waits.configuration == configuration else { return nil }
                    if let found = try await value() { return found }
                }
                return nil
            }
        } onGracefulShutdown: {
            wakeUps.finish()
        }
    }

    /// Yields after each pause, and finishes at the end of the wait.
    private static func yieldPeriodically(
        to wakeUps: AsyncStream<Void>.Continuation, until end: ContinuousClock.Instant
    ) async {
        while ContinuousClock.now < end {
            let next = min(end, ContinuousClock.now + CustomerWait.lookPause)
            do { try await Task.sleep(until: next) } catch { break }
            wakeUps.yield()
        }
        wakeUps.finish()
    }
}
