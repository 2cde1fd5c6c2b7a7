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
    private let verifications: [AppID: ReceiptVerification]

    /// - Parameter http: of the configuration `.appStore`; whoever made it shuts it down.
    /// - Parameter pacing: of each app that is not simulated.
    package init(
        _ apps: [AppConfiguration], http: HTTPClient, now: @escaping @Sendable () -> Instant,
        pacing: () -> Pacing = Pacing.inProcess
    ) {
        var clients: [AppID: AppStoreClient] = [:]
        verifications = Self.verifications(of: apps, http: http, now: now)
        for app in apps {
            guard let access = app.appStore else { continue }
            clients[app.settings.id] = AppStoreClient(
                access.credentials, now: { AppStoreDate(milliseconds: now().milliseconds) },
                pacing: app.settings.isSimulated ? .unlimited : pacing(),
                send: httpSender(http, hosts: access.hosts))
        }
        self.clients = clients
    }

    private static func verifications(
        of apps: [AppConfiguration], http: HTTPClient, now: @escaping @Sendable () -> Instant
    ) -> [AppID: ReceiptVerification] {
        var verifications: [AppID: ReceiptVerification] = [:]
        for app in apps {
            guard let secret = app.settings.sharedSecret, let hosts = app.receiptHosts else {
                continue
            }
            verifications[app.settings.id] = ReceiptVerification(
                secret, now: { AppStoreDate(milliseconds: now().milliseconds) },
                send: httpSender(http, hosts: hosts))
        }
        return verifications
    }

    /// Nil where the configuration has no key for the app.
    package func client(of app: AppID) -> AppStoreClient? { clients[app] }

    /// Nil where the configuration has no shared secret for the app.
    package func verification(of app: AppID) -> ReceiptVerification? { verifications[app] }

    /// How a server of these apps asks.
    package func asking(lease: Duration = Asking.lease) -> Asking {
        var asking = Asking(worker: .ofThisProcess(lease: lease), appStore: client)
        asking.verification = verification
        return asking
    }
}

/// The App Store of ``LocalStore``: there is none until the simulator listens, which needs the
/// server's address first.
final class LateAppStore: Sendable {
    private let latest = Mutex<(client: AppStoreClient, verification: ReceiptVerification)?>(nil)

    var client: AppStoreClient? { latest.withLock { $0?.client } }
    var verification: ReceiptVerification? { latest.withLock { $0?.verification } }

    func follow(_ client: AppStoreClient, _ verification: ReceiptVerification) {
        latest.withLock { $0 = (client, verification) }
    }
}

extension AppStoreCredentials {
    /// With the key that every simulator accepts.
    static func simulated(bundleID: String) throws(Unusable) -> AppStoreCredentials {
        try AppStoreCredentials(
            keyID: APIKey.wellKnown.id, issuerID: APIKey.wellKnown.issuerID, bundleID: bundleID,
            privateKey: APIKey.wellKnownPEM)
    }
}
