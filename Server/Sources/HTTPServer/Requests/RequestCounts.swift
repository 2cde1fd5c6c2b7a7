import Synchronization

/// Counts responses by method, route and status. The number of counters is limited, because there
/// are few methods and routes.
final class RequestCounts: Sendable {
    struct Label: Hashable, Comparable {
        var method: String
        var route: String
        var status: Int

        static func < (one: Self, other: Self) -> Bool {
            (one.route, one.method, one.status) < (other.route, other.method, other.status)
        }
    }

    private let counts = Mutex<[Label: Int]>([:])

    func add(method: String, route: String, status: Int) {
        counts.withLock { $0[Label(method: method, route: route, status: status), default: 0] += 1 }
    }

    /// All counters, in a fixed order.
    var all: [(label: Label, count: Int)] {
        counts.withLock { $0 }.sorted { $0.key < $1.key }.map { (label: $0.key, count: $0.value) }
    }
}
