import Foundation
import Storage
import Synchronization

/// Ends connections on which a call lasts longer than the server would let it last. A server that
/// stands still says nothing, and its machine goes on acknowledging what it is sent: libpq would
/// wait for ever.
final class Watch: Sendable {
    /// The server ends its statements itself before that.
    static let callSecondsMax = Double(PostgresSession.statementSecondsMax) + 5
    /// The same once the database is closed.
    static let lastCallSecondsMax = 3.0
    private static let lookSeconds = 0.5

    private struct Line {
        let socket: Int32
        /// When the call began that is under way.
        var callFrom: Double?
    }

    private struct State {
        var lines: [Int: Line] = [:]
        var number = 0
        var isWatching = false
        var isClosed = false
        var lastCutAt = -Double.infinity
    }

    private let state = Mutex(State())

    /// Seconds of a clock that only goes forward.
    static var now: Double { (ContinuousClock.now - epoch) / .seconds(1) }
    private static let epoch = ContinuousClock.now

    /// - Returns: by what ``during(_:_:)`` and ``remove(_:)`` know the connection.
    func add(socket: Int32) -> Int {
        let (number, begins) = state.withLock { state in
            state.number += 1
            state.lines[state.number] = Line(socket: socket)
            defer { state.isWatching = true }
            return (state.number, !state.isWatching)
        }
        if begins { begin() }
        return number
    }

    /// To be called before the connection is closed: its socket may then be another's.
    func remove(_ number: Int) { state.withLock { $0.lines[number] = nil } }

    /// A call that waits for the server.
    func during<Answer>(_ number: Int, _ call: () -> Answer) -> Answer {
        let now = Self.now
        state.withLock { $0.lines[number]?.callFrom = now }
        defer { state.withLock { $0.lines[number]?.callFrom = nil } }
        return call()
    }

    /// When a connection was ended last.
    var lastCutAt: Double { state.withLock { $0.lastCutAt } }

    /// Calls under way have little time left. Harmless to repeat.
    func close() { state.withLock { $0.isClosed = true } }

    private func begin() {
        let thread = Thread { [weak self] in
            while self?.look() == true { Thread.sleep(forTimeInterval: Self.lookSeconds) }
        }
        thread.name = "perennial-watch"
        thread.start()
    }

    /// False where there is nothing left to watch.
    private func look() -> Bool {
        let now = Self.now
        return state.withLock { state in
            let most = state.isClosed ? Self.lastCallSecondsMax : Self.callSecondsMax
            for line in state.lines.values {
                guard let from = line.callFrom, now - from > most else { continue }
                shutdown(line.socket, Int32(SHUT_RDWR))
                state.lastCutAt = now
            }
            guard state.isClosed, state.lines.isEmpty else { return true }
            state.isWatching = false
            return false
        }
    }
}
