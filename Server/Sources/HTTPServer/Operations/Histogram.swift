/// The number of durations within each of several bounds, and the sum of the durations.
struct Histogram: Hashable, Sendable {
    /// Upper bounds in seconds, in ascending order. One more bucket has no upper bound.
    struct Bounds: Hashable, Sendable {
        let seconds: [Double]
        fileprivate let nanoseconds: [Int64]

        init(seconds: [Double]) {
            self.seconds = seconds
            nanoseconds = seconds.map { Int64(($0 * 1e9).rounded()) }
        }

        /// Most responses take a few milliseconds. During an outage of PostgreSQL, a response may
        /// take ten seconds.
        static let responses = Bounds(
            seconds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30])
        /// The longest wait ends after 45 seconds: see ``WaitLimits/holdMax``.
        static let waits = Bounds(seconds: [0.1, 1, 5, 10, 20, 30, 45, 60])
    }

    let bounds: Bounds
    private var counts: [Int]
    private var nanoseconds: Int64 = 0

    init(_ bounds: Bounds) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.seconds.count + 1)
    }

    mutating func add(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let length = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        counts[bounds.nanoseconds.firstIndex { length <= $0 } ?? counts.count - 1] += 1
        nanoseconds += length
    }

    var count: Int { counts.reduce(0, +) }
    var sumSeconds: Double { Double(nanoseconds) / 1e9 }

    /// For each bound, the number of durations that were not longer than the bound. The last bound
    /// is infinite.
    var buckets: [(bound: String, count: Int)] {
        var total = 0
        return zip(bounds.seconds.map(\.description) + ["+Inf"], counts).map { bound, count in
            total += count
            return (bound, total)
        }
    }
}
