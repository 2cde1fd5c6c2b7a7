import Ledger
import Synchronization

/// Wakes readers that wait for a change of a customer, or for any event of an app, after this
/// process has committed such events.
///
/// A signal is a hint to read again. A signal may be sent although nothing has changed. Commits of
/// other servers send no signal, so a reader must also check from time to time.
package final class ChangeSignals: Sendable {
    private enum Topic: Hashable {
        /// All events of an app.
        case log(AppID)
        /// A customer, by an id in lower case, because account tokens are compared without case.
        case id(AppID, String)
        /// A purchase, for customers who have it without being its owner.
        case purchase(AppID, PurchaseID)

        init(_ app: AppID, _ id: String) { self = .id(app, id.lowercased()) }
    }

    private struct State {
        var listeners: [Topic: [UInt64: AsyncStream<Void>.Continuation]] = [:]
        /// For each lane, the topics of the events that were appended since its last commit.
        var uncommitted: [Lane: Set<Topic>] = [:]
        var lastNumber: UInt64 = 0
    }

    /// Transactions that run one after the other. Transactions of different lanes run at the same
    /// time, so the commit of one lane says nothing about the events of another lane.
    package struct Lane: Hashable, Sendable {
        fileprivate var number: UInt64

        /// The lane of sessions that have no lane of their own. Used by tests of rows.
        static let none = Lane(number: 0)
    }

    private let state = Mutex(State())

    package init() {}

    func addLane() -> Lane {
        state.withLock { state in
            state.lastNumber += 1
            return Lane(number: state.lastNumber)
        }
    }

    /// Returns a stream that yields after each commit with events about one of these ids or
    /// purchases. The stream ends when its continuation is finished. One element can stand for
    /// several commits.
    package func signals(
        about ids: [CustomerID], _ purchases: [PurchaseID] = [], in app: AppID
    ) -> (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation) {
        let topics = ids.map { Topic(app, $0.rawValue) } + purchases.map { .purchase(app, $0) }
        return signals(about: Set(topics))
    }

    /// Returns a stream that yields after each commit with events of an app. The stream ends when
    /// its continuation is finished. One element can stand for several commits.
    package func signals(
        ofLogOf app: AppID
    ) -> (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation) {
        signals(about: [.log(app)])
    }

    private func signals(
        about topics: Set<Topic>
    ) -> (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation) {
        let (stream, continuation) = AsyncStream<Void>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.lastNumber += 1
            for topic in topics {
                state.listeners[topic, default: [:]][state.lastNumber] = continuation
            }
            return state.lastNumber
        }
        continuation.onTermination = { [self] _ in remove(number, from: topics) }
        return (stream, continuation)
    }

    private func remove(_ number: UInt64, from topics: Set<Topic>) {
        state.withLock { state in
            for topic in topics {
                state.listeners[topic]?[number] = nil
                if state.listeners[topic]?.isEmpty == true { state.listeners[topic] = nil }
            }
        }
    }

    /// The number of ids and logs for which readers wait.
    package var topicCount: Int { state.withLock { $0.listeners.count } }

    /// Collects the customers of events that are not committed yet.
    func collect(_ entries: [EventEntry], in lane: Lane) {
        state.withLock { state in
            guard !state.listeners.isEmpty else { return }
            for entry in entries {
                let ids = [entry.customer?.rawValue, entry.other?.rawValue, entry.accountToken]
                let named =
                    ids.compactMap(\.self).map { Topic(entry.app, $0) }
                    + [entry.purchase.map { .purchase(entry.app, $0) }].compactMap(\.self)
                for topic in [.log(entry.app)] + named {
                    if state.listeners[topic] != nil {
                        state.uncommitted[lane, default: []].insert(topic)
                    }
                }
            }
        }
    }

    /// Wakes the readers that wait for the collected topics. Called after each commit of a lane.
    func signal(_ lane: Lane) {
        let woken = state.withLock { state in
            let topics = state.uncommitted.removeValue(forKey: lane) ?? []
            return topics.flatMap { topic in
                state.listeners[topic].map { Array($0.values) } ?? []
            }
        }
        for continuation in woken { continuation.yield() }
    }

    /// Discards the topics collected in a lane whose only transaction has failed.
    func discard(_ lane: Lane) { state.withLock { $0.uncommitted[lane] = nil } }
}
