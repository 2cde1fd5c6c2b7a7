import Synchronization

/// Limits how many sign-ins one network tries to complete, because each of them is a request to the
/// provider. A stranger must neither use up this server's requests to the provider, nor make the
/// provider refuse this server.
final class ProviderMeter: Sendable {
    /// The maximum number of sign-ins of one network that are completed at one time.
    static let atOnceMax = 2
    /// The maximum number of failed sign-ins of one network within ``span``.
    static let failuresMax = 20
    static let span = Duration.seconds(60)
    /// The maximum number of networks that are counted. Further ones share one count.
    static let networksMax = 10_000

    private struct Network {
        var underWay = 0
        var failures = 0
        var since: ContinuousClock.Instant
    }

    private let networks = Mutex<[String: Network]>([:])
    private let now: @Sendable () -> ContinuousClock.Instant

    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) { self.now = now }

    /// Begins to complete a sign-in. Returns false if the network has reached a limit. Otherwise
    /// the caller must call ``complete(_:)`` once.
    func begin(_ network: String) -> Bool {
        let now = now()
        return networks.withLock { networks in
            let key = Self.key(of: network, in: &networks, at: now)
            var found = networks[key] ?? Network(since: now)
            if now - found.since >= Self.span { (found.failures, found.since) = (0, now) }
            guard found.underWay < Self.atOnceMax, found.failures < Self.failuresMax else {
                networks[key] = found
                return false
            }
            found.underWay += 1
            networks[key] = found
            return true
        }
    }

    func complete(_ network: String) { change(network) { $0.underWay = max(0, $0.underWay - 1) } }

    func recordFailure(of network: String) { change(network) { $0.failures += 1 } }

    private func change(_ network: String, _ body: (inout Network) -> Void) {
        networks.withLock { networks in
            let key = networks[network] == nil ? "" : network
            if var found = networks[key] {
                body(&found)
                networks[key] = found
            }
        }
    }

    /// The name under which a network is counted: its own, or that of all others if there are too
    /// many.
    private static func key(
        of network: String, in networks: inout [String: Network], at now: ContinuousClock.Instant
    ) -> String {
        if networks[network] != nil || networks.count < networksMax { return network }
        networks = networks.filter { $0.value.underWay > 0 || now - $0.value.since < span }
        return networks.count < networksMax ? network : ""
    }
}
