import AppStoreFormats

/// Counts the calls of each endpoint in the current second.
package struct RateLimits: Sendable {
    /// The clock by which seconds are counted.
    package enum Time: String, Hashable, Sendable, CaseIterable {
        /// No calls are counted.
        case off
        /// The simulated world's clock. While it stands still, no new second begins.
        case virtual
        /// The machine's clock.
        case real
    }

    private struct Place: Hashable {
        let endpoint: String
        let environment: SimulatedEnvironment
    }

    private struct Count {
        var second: Int64
        var calls: Int
    }

    private var counts: [Place: Count] = [:]

    /// Counts a call. Returns nil if the call is within the limit; otherwise the time when calls
    /// are accepted again.
    mutating func count(
        _ endpoint: APIEndpoint, in environment: SimulatedEnvironment, at now: AppStoreDate
    ) -> AppStoreDate? {
        guard let limit = endpoint.perSecond(in: environment) else { return nil }
        let place = Place(endpoint: endpoint.name, environment: environment)
        let second = now.milliseconds / 1000
        var count = counts[place] ?? Count(second: second, calls: 0)
        if count.second != second { count = Count(second: second, calls: 0) }
        guard count.calls < limit else { return AppStoreDate(milliseconds: (second + 1) * 1000) }
        count.calls += 1
        counts[place] = count
        return nil
    }
}
