import Logging
import NIOCore
import Synchronization

/// The limits of connections from one address.
package struct ConnectionLimits: Hashable, Sendable {
    /// The maximum number of open connections from one address, or from one network of IPv6
    /// addresses. This number is half of all connections, which is more than the number of requests
    /// that may wait: a proxy that is not configured as trusted has one connection for each waiting
    /// request.
    package var connectionsOfAddressMax = PerennialServer.connectionsMax / 2

    package init() {}
}

/// Counts the open connections by the address that they come from, so that one address cannot hold
/// all of them. Connections from this machine and from trusted proxies are not limited, because
/// they carry the requests of many clients.
final class ConnectionCounts: Sendable {
    /// The minimum time between two warnings in the log.
    private static let warningPause = Duration.seconds(60)

    private struct State {
        var byNetwork: [String: Int] = [:]
        var refused = 0
        var warnedAt: ContinuousClock.Instant?
    }

    let limits: ConnectionLimits
    private let state = Mutex(State())

    init(_ limits: ConnectionLimits) { self.limits = limits }

    /// The number of connections closed at once since the start.
    var refusedCount: Int { state.withLock { $0.refused } }

    /// Counts a connection until it is closed. Returns false if the connection must be closed at
    /// once, because its address has too many.
    ///
    /// - Parameter exempt: addresses that are not limited, in their canonical form.
    func admit(_ channel: any Channel, exempt: Set<String>, _ logger: Logger) -> Bool {
        guard let address = channel.remoteAddress.flatMap(CanonicalAddress.init),
            !address.isLoopback, !exempt.contains(address.description)
        else { return true }
        guard admit(address.network) else {
            warn(of: address, logger)
            return false
        }
        channel.closeFuture.whenComplete { [self] _ in release(address.network) }
        return true
    }

    /// Counts a connection from a network. Returns false if the network has too many.
    func admit(_ network: String) -> Bool {
        state.withLock { state in
            guard state.byNetwork[network, default: 0] < limits.connectionsOfAddressMax else {
                state.refused += 1
                return false
            }
            state.byNetwork[network, default: 0] += 1
            return true
        }
    }

    func release(_ network: String) {
        state.withLock { state in
            let rest = state.byNetwork[network, default: 0] - 1
            state.byNetwork[network] = rest > 0 ? rest : nil
        }
    }

    private func warn(of address: CanonicalAddress, _ logger: Logger) {
        let isDue = state.withLock { state in
            let now = ContinuousClock.now
            if let last = state.warnedAt, now - last < Self.warningPause { return false }
            state.warnedAt = now
            return true
        }
        guard isDue else { return }
        logger.warning(
            "connections from one address are closed, because it has too many",
            metadata: [
                "address": .string(address.description),
                "max": .stringConvertible(limits.connectionsOfAddressMax),
            ])
    }
}
