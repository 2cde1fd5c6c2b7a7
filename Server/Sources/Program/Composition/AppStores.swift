import AppStoreClient
import AppStoreFormats
import AsyncHTTPClient
import Engine
import Ledger
import Simulator
import Synchronization

/// The App Store as each app of the configuration asks it.
package struct AppStores: Sendable {
    private let clients: [AppID: AppStoreClient]

    /// - Parameter http: of the configuration `.appStore`; whoever made it shuts it down.
    package init(
        _ apps: [AppConfiguration], http: HTTPClient, now: @escaping @Sendable () -> Instant
    ) {
        var clients: [AppID: AppStoreClient] = [:]
        for app in apps {
            guard let access = app.appStore else { continue }
            clients[app.settings.id] = AppStoreClient(
                access.credentials, now: { AppStoreDate(milliseconds: now().milliseconds) },
                pacing: app.settings.isSimulated ? .unlimited : .inProcess(),
                send: httpSender(http, hosts: access.hosts))
        }
        self.clients = clients
    }

    /// Nil where the configuration has no key for the app.
    package func client(of app: AppID) -> AppStoreClient? { clients[app] }
}

/// The App Store of ``LocalStore``: there is none until the simulator listens, which needs the
/// server's address first.
final class LateAppStore: Sendable {
    private let latest = Mutex<AppStoreClient?>(nil)

    var client: AppStoreClient? { latest.withLock { $0 } }

    func follow(_ client: AppStoreClient) { latest.withLock { $0 = client } }
}

extension AppStoreCredentials {
    /// With the key that every simulator accepts.
    static func simulated(bundleID: String) throws(Unusable) -> AppStoreCredentials {
        try AppStoreCredentials(
            keyID: APIKey.wellKnown.id, issuerID: APIKey.wellKnown.issuerID, bundleID: bundleID,
            privateKey: APIKey.wellKnownPEM)
    }
}
