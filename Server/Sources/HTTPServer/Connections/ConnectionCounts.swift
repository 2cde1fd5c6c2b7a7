import NIOCore
import Synchronization

/// The limits of connections from one address.
package struct ConnectionLimits: Hashable, Sendable {
    /// The maximum number of open connections from one address, or from one network of IPv6
    /// addresses. An open stream of a connection with HTTP/2 counts as another connection. This
    /// number is half of all connections. It must be more than the number of requests that may
    /// wait, because a proxy that is not configured as trusted has one connection for each waiting
    /// request.
    package var connectionsOfAddressMax = PerennialServer.connectionsMax / 2
    /// The maximum number of open streams of all connections with HTTP/2 together.
    package var streamsMax = PerennialServer.connectionsMax
    /// The maximum number of requests with an incomplete head from one address, or from one network
    /// of IPv6 addresses. Almost every head arrives in one piece. Zero means that there is no
    /// limit.
    package var halfSentRequestsOfAddressMax = 256
    /// The maximum time from the first part of a request's head to its end, in seconds.
    package var headSecondsMax: Int64 = 20

    package init() {}
}

/// Counts the open connections, and the requests with an incomplete head, of each address, so that
/// one address cannot hold all connections. Connections from this machine and from trusted proxies
/// are not limited, because they carry the requests of many clients.
final class ConnectionCounts: Sendable {
    private struct State {
        var byNetwork: [String: Int] = [:]
        var halfSentByNetwork: [String: Int] = [:]
        var streams = 0
    }

    let limits: ConnectionLimits
    private let refusals: LimitRefusals
    private let state = Mutex(State())

    init(_ limits: ConnectionLimits, _ refusals: LimitRefusals) {
        (self.limits, self.refusals) = (limits, refusals)
    }

    /// The network by which a connection is counted. Returns nil if it is not limited.
    ///
    /// - Parameter exempt: addresses that are not limited, in their canonical form.
    static func network(of channel: any Channel, exempt: Set<String>) -> String? {
        guard let address = channel.remoteAddress.flatMap(CanonicalAddress.init),
            !address.isLoopback, !exempt.contains(address.description)
        else { return nil }
        return address.network
    }

    /// Counts a connection until it is closed. Returns false if the connection must be closed at
    /// once, because its address has too many.
    ///
    /// - Parameter network: where the connection comes from. Nil if it is not limited.
    func admit(_ channel: any Channel, from network: String?) -> Bool {
        guard let network else { return true }
        guard admit(network) else { return false }
        channel.closeFuture.whenComplete { [self] _ in release(network) }
        return true
    }

    /// Counts a stream until it is closed, as another connection of its network and as one of all
    /// streams. Returns false if there are too many.
    func admit(stream: any Channel, from network: String?) -> Bool {
        guard addStream() else { return false }
        guard admit(stream, from: network) else {
            removeStream()
            return false
        }
        stream.closeFuture.whenComplete { [self] _ in removeStream() }
        return true
    }

    /// The number of open streams.
    var streamCount: Int { state.withLock { $0.streams } }

    private func addStream() -> Bool {
        state.withLock { state in
            guard state.streams < limits.streamsMax else { return false }
            state.streams += 1
            return true
        }
    }

    private func removeStream() { state.withLock { $0.streams -= 1 } }

    /// Counts a connection from a network. Returns false if the network has too many.
    func admit(_ network: String) -> Bool {
        add(to: \.byNetwork, network, .connectionsOfAddress, max: limits.connectionsOfAddressMax)
    }

    func release(_ network: String) { remove(from: \.byNetwork, network) }

    /// Counts a request with an incomplete head. Returns false if the network has too many.
    func admitHalfSent(from network: String) -> Bool {
        let most = limits.halfSentRequestsOfAddressMax
        return add(
            to: \.halfSentByNetwork, network, .halfSentRequestsOfAddress,
            max: most > 0 ? most : .max)
    }

    func releaseHalfSent(from network: String) { remove(from: \.halfSentByNetwork, network) }

    private func add(
        to counts: WritableKeyPath<State, [String: Int]>, _ network: String, _ limit: CallerLimit,
        max: Int
    ) -> Bool {
        let isAdmitted = state.withLock { state in
            guard state[keyPath: counts][network, default: 0] < max else { return false }
            state[keyPath: counts][network, default: 0] += 1
            return true
        }
        if !isAdmitted { refusals.record(limit, max: max, of: network) }
        return isAdmitted
    }

    private func remove(from counts: WritableKeyPath<State, [String: Int]>, _ network: String) {
        state.withLock { state in
            let rest = state[keyPath: counts][network, default: 0] - 1
            state[keyPath: counts][network] = rest > 0 ? rest : nil
        }
    }
}
