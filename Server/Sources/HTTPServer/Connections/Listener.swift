import Engine
import Hummingbird
import PerennialContract
import Storage

/// Defines what the server serves at one of its addresses.
package struct Listener: Hashable, Sendable {
    /// Whether the address serves `/metrics`.
    let answersMetrics: Bool
    /// Whether the address accepts secret keys, and serves the routes that need one.
    let acceptsSecretKeys: Bool
    /// Whether the address serves routes other than those for operators.
    let answersCallers: Bool
    /// Whether the address serves the dashboard, if the server has one.
    var servesDashboard = true

    /// The only address of a server, which serves everything.
    package static let only = main(hasMetrics: true, hasSecretKeys: true)

    /// The address that apps and the App Store use.
    ///
    /// - Parameters:
    ///   - hasMetrics: whether no other address serves `/metrics`.
    ///   - hasSecretKeys: whether no other address is for secret keys.
    ///   - hasDashboard: whether no other address is for the dashboard.
    package static func main(
        hasMetrics: Bool, hasSecretKeys: Bool, hasDashboard: Bool = true
    ) -> Self {
        Self(
            answersMetrics: hasMetrics, acceptsSecretKeys: hasSecretKeys, answersCallers: true,
            servesDashboard: hasDashboard)
    }

    /// The address for clients that are servers, which have secret keys.
    ///
    /// - Parameter hasMetrics: whether no other address serves `/metrics`.
    package static func secret(hasMetrics: Bool) -> Self {
        Self(
            answersMetrics: hasMetrics, acceptsSecretKeys: true, answersCallers: true,
            servesDashboard: false)
    }

    /// The address for operators that serves `/metrics`, and no dashboard.
    package static let metrics = Self(
        answersMetrics: true, acceptsSecretKeys: false, answersCallers: false,
        servesDashboard: false)

    /// The address for operators that serves the dashboard, and no `/metrics`.
    package static let dashboard = Self(
        answersMetrics: false, acceptsSecretKeys: false, answersCallers: false)
}

extension PerennialServer {
    /// The paths that every address serves, except for the metrics.
    private static let operatorPaths: Set = [
        Paths.health, Paths.ready, Paths.metrics, Paths.openAPI,
    ]

    /// The handler of a route at an address: the route's own handler, or one that responds with a
    /// problem that names the right address.
    func handler(of route: Route) -> Route.Handler {
        guard let elsewhere = elsewhere(route) else { return route.answer }
        return { _, _ in throw ProblemError(elsewhere) }
    }

    private func elsewhere(_ route: Route) -> ProblemCatalogue.Entry? {
        if Self.operatorPaths.contains(route.path) {
            return route.path == Paths.metrics && !listener.answersMetrics
                ? .metricsElsewhere : nil
        }
        guard listener.answersCallers else {
            return listener.servesDashboard ? .onlyDashboardHere : .onlyMetricsHere
        }
        return route.operation.access == .secretKey && !listener.acceptsSecretKeys
            ? .of(.secretKeyAtWrongAddress) : nil
    }
}

extension RequestAuthorization {
    /// Checks that this address accepts a key. Call this function before the key is looked up, so
    /// that keys cannot be guessed at this address.
    ///
    /// - Throws: ``ProblemError`` if the key is a secret key and this address accepts no secret
    ///   keys.
    func requireAccepted(_ key: String) throws {
        guard !server.listener.acceptsSecretKeys, key.hasPrefix(KeyKind.secret.prefix + "_") else {
            return
        }
        throw ProblemError(.secretKeyAtWrongAddress)
    }

    /// Checks that this address accepts the key of a holder.
    ///
    /// - Throws: ``ProblemError`` if the holder's key is a secret key and this address accepts no
    ///   secret keys.
    func requireAccepted(_ holder: StoredKey) throws {
        guard !server.listener.acceptsSecretKeys, holder.kind == .secret else { return }
        throw ProblemError(.secretKeyAtWrongAddress)
    }
}
