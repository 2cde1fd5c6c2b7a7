import Foundation
import Storage
import Synchronization

/// Shuts down connections on which a call takes longer than the server's timeouts permit. If a
/// server process hangs, its machine still acknowledges data, so libpq alone would wait forever.
final class ConnectionWatchdog: Sendable {
    /// The limit of a call in seconds: longer than the server's statement timeout.
    static let callSecondsMax = Double(PostgresConnection.statementSecondsMax) + 5
    /// The limit of a call in seconds after the database has been closed.
    static let lastCallSecondsMax = 3.0
    private static let checkSeconds = 0.5

    private struct WatchedConnection {
        let socket: Int32
        /// When the call in progress began. Nil if no call is in progress.
        var callStart: Double?
    }

    private struct State {
        var lines: [Int: WatchedConnection] = [:]
        var number = 0
        var isWatching = false
        var isClosed = false
        var lastShutdownAt = -Double.infinity
    }

    private let state = Mutex(State())

    /// The present time in seconds of a monotonic clock.
    static var now: Double { (ContinuousClock.now - epoch) / .seconds(1) }
    private static let epoch = ContinuousClock.now

    /// Starts watching a connection.
    ///
    /// - Returns: the identifier of the connection for ``during(_:_:)`` and ``remove(_:)``.
    func add(socket: Int32) -> Int {
        let (number, begins) = state.withLock { state in
            state.number += 1
            state.lines[state.number] = WatchedConnection(socket: socket)
            defer { state.isWatching = true }
            return (state.number, !state.isWatching)
        }
        if begins { startThread() }
        return number
    }

    /// Stops watching a connection. Call this function before closing the connection, because the
    /// socket number may be reused.
    func remove(_ number: Int) { state.withLock { $0.lines[number] = nil } }

    /// Runs a call that waits for the server, within the time limit.
    func during<Answer>(_ number: Int, _ call: () -> Answer) -> Answer {
        let now = Self.now
        state.withLock { $0.lines[number]?.callStart = now }
        defer { state.withLock { $0.lines[number]?.callStart = nil } }
        return call()
    }

    /// When a connection was last shut down.
    var lastShutdownAt: Double { state.withLock { $0.lastShutdownAt } }

    /// Shortens the limit for calls in progress. Idempotent.
    func close() { state.withLock { $0.isClosed = true } }

    private func startThread() {
        let thread = Thread { [weak self] in
            while self?.checkConnections() == true {
                Thread.sleep(forTimeInterval: Self.checkSeconds)
            }
        }
        thread.name = "perennial-watch"
        thread.start()
    }

    /// Shuts down connections whose call takes too long. Returns false if there is nothing left to
    /// watch.
    private func checkConnections() -> Bool {
        let now = Self.now
        return state.withLock { state in
            let most = state.isClosed ? Self.lastCallSecondsMax : Self.callSecondsMax
            for line in state.lines.values {
                guard let from = line.callStart, now - from > most else { continue }
                shutdown(line.socket, Int32(SHUT_RDWR))
                state.lastShutdownAt = now
            }
            guard state.isClosed, state.lines.isEmpty else { return true }
            state.isWatching = false
            return false
        }
    }
}
