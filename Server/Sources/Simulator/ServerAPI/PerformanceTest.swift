import AppStoreFormats

/// A series of requests to an app's realtime URL, as defined on the page "Initiate Performance
/// Test".
struct PerformanceTest: Sendable {
    // Apple does not publish the following numbers. They are small, because the call that starts a
    // run responds only at the end of the run.
    static let requests = 20
    static let concurrentRequests = 10
    static let durationMilliseconds: Int64 = 60_000
    static let responseMilliseconds: Int64 = 700
    static let successPercent: Int64 = 95
    /// Maximum number of stored runs. When it is reached, no new run can start.
    static let storedMax = 1000

    struct Attempt: Sendable {
        let result: PostResult
        let milliseconds: Int64
    }

    let target: String
    let attempts: [Attempt]

    static let config: JSON = [
        "maxConcurrentRequests": .integer(Int64(concurrentRequests)),
        "totalRequests": .integer(Int64(requests)),
        "totalDuration": .integer(durationMilliseconds),
        "responseTimeThreshold": .integer(responseMilliseconds),
        "successRateThreshold": .integer(successPercent),
    ]

    /// The percentage of requests with a successful response in time.
    private var successRate: Int64 {
        let good = attempts.count {
            $0.result.isSuccess && $0.milliseconds <= Self.responseMilliseconds
        }
        return attempts.isEmpty ? 0 : Int64(good * 100 / attempts.count)
    }

    var isPassed: Bool { successRate >= Self.successPercent }

    var json: JSON {
        [
            "config": Self.config, "target": .string(target),
            "result": isPassed ? "PASS" : "FAIL", "successRate": .integer(successRate),
            "numPending": 0, "responseTimes": responseTimes, "failures": failures,
        ]
    }

    private var responseTimes: JSON {
        let times = attempts.map(\.milliseconds).sorted()
        func percentile(_ percent: Int) -> JSON {
            times.isEmpty ? 0 : .integer(times[min(times.count * percent / 100, times.count - 1)])
        }
        let average = times.isEmpty ? 0 : times.reduce(0, +) / Int64(times.count)
        return [
            "average": .integer(average), "p50": percentile(50), "p90": percentile(90),
            "p95": percentile(95), "p99": percentile(99),
        ]
    }

    private var failures: JSON {
        let failed = attempts.filter { !$0.result.isSuccess }.map(\.result.sendAttemptResult)
        let counts = Dictionary(failed.map { ($0, Int64(1)) }, uniquingKeysWith: +)
        return .object(counts.keys.sorted().map { .init($0, .integer(counts[$0] ?? 0)) })
    }

    /// Posts all requests, with limited concurrency, and measures each by the machine's clock.
    static func run(
        _ bodies: [[UInt8]], against url: String,
        post: @escaping @Sendable (_ url: String, _ body: [UInt8]) async -> PostResult
    ) async -> Self {
        await withTaskGroup(of: Attempt.self) { tasks in
            var attempts: [Attempt] = []
            for (index, body) in bodies.enumerated() {
                if index >= concurrentRequests, let attempt = await tasks.next() {
                    attempts.append(attempt)
                }
                tasks.addTask {
                    let start = ContinuousClock.now
                    let answer = await post(url, body)
                    let length = ContinuousClock.now - start
                    return Attempt(
                        result: answer, milliseconds: Int64(length / .milliseconds(1)))
                }
            }
            for await attempt in tasks { attempts.append(attempt) }
            return Self(target: url, attempts: attempts)
        }
    }
}
