import Synchronization

/// Counts responses by method, route and status, and measures how long they took. The number of
/// counters is limited, because there are few methods and routes.
final class RequestCounts: Sendable {
    struct Label: Hashable, Comparable {
        var method: String
        var route: String

        static func < (one: Self, other: Self) -> Bool {
            (one.route, one.method) < (other.route, other.method)
        }
    }

    /// The responses of one route to requests with one method.
    struct Responses: Sendable {
        private(set) var byStatus: [Int: Int] = [:]
        /// How long responses took. Omits responses to requests that asked to wait.
        private(set) var durations = Histogram(.responses)
        /// How long the responses to requests with `?wait=` took.
        private(set) var waits = Histogram(.waits)

        fileprivate mutating func add(_ status: Int, after duration: Duration, isWait: Bool) {
            byStatus[status, default: 0] += 1
            if isWait { waits.add(duration) } else { durations.add(duration) }
        }
    }

    private let responses = Mutex<[Label: Responses]>([:])

    /// Counts a response.
    ///
    /// - Parameters:
    ///   - duration: the time from the request's head to the response's head.
    ///   - isWait: whether the request asked to wait for a change.
    func add(method: String, route: String, status: Int, after duration: Duration, isWait: Bool) {
        let label = Label(method: method, route: route)
        responses.withLock {
            $0[label, default: Responses()].add(status, after: duration, isWait: isWait)
        }
    }

    /// All counters, in a fixed order.
    var all: [(label: Label, responses: Responses)] {
        responses.withLock { $0 }.sorted { $0.key < $1.key }
            .map { (label: $0.key, responses: $0.value) }
    }
}
