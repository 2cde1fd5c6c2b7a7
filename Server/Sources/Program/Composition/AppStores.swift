import AppStoreClient
import AppStoreFormats
import AsyncHTTPClient
import Engine
import Ledger
import Simulator
import Synchronization

/// The App Store clients of the configured apps.
package struct AppStores: Sendable {
    private let clients: [AppID: AppStoreClient]
    private let verifications: [AppID: VerifyReceiptClient]
    private let reports: [AppID: ReportFileSource]
    private let line: Transport
    /// The pacing of each app that is not simulated.
    private let limiters: [AppID: RateLimiter]

    /// Makes the clients.
    ///
    /// - Parameter http: a client with the configuration `.appStore`. The caller shuts the client
    ///   down.
    /// - Parameter pacing: makes the pacing of each app that is not simulated.
    package init(
        _ apps: [AppConfiguration], http: HTTPClient, now: @escaping @Sendable () -> Instant,
        pacing: () -> RateLimiter = RateLimiter.inProcess
    ) {
        let line = Transport(http: http, distance: ClockOffset()) {
            AppStoreDate(milliseconds: now().milliseconds)
        }
        self.init(apps, line) { _ in pacing() }
    }

    private init(_ apps: [AppConfiguration], _ line: Transport, pacing: (AppID) -> RateLimiter) {
        var clients: [AppID: AppStoreClient] = [:]
        var limiters: [AppID: RateLimiter] = [:]
        for app in apps {
            guard let access = app.appStore else { continue }
            let limiter = app.settings.isSimulated ? nil : pacing(app.settings.id)
            limiters[app.settings.id] = limiter
            clients[app.settings.id] = AppStoreClient(
                access.credentials, now: line.now, pacing: limiter ?? .unlimited,
                send: line.sender(of: app, to: access.hosts))
        }
        self.clients = clients
        self.limiters = limiters
        self.line = line
        verifications = Self.verifications(of: apps, line)
        reports = Self.reports(of: apps, line)
    }

    /// Returns the clients of another configuration. An app of both configurations keeps its
    /// pacing.
    func replacing(_ apps: [AppConfiguration]) -> AppStores {
        AppStores(apps, line) { limiters[$0] ?? .inProcess() }
    }

    /// Sends requests, and observes the time in the responses.
    private struct Transport {
        let http: HTTPClient
        let distance: ClockOffset
        let now: @Sendable () -> AppStoreDate

        /// Returns the function that sends an app's requests. For a simulated app, the returned
        /// function does not observe the time in the responses, because they have the time of the
        /// machine, not of the simulator.
        func sender(
            of app: AppConfiguration, to hosts: AppStoreHosts
        ) -> @Sendable (AppStoreRequest) async throws -> AppStoreResponse {
            let send = httpSender(http, hosts: hosts)
            return app.settings.isSimulated ? send : distance.observing(now: now, send)
        }
    }

    private static func verifications(
        of apps: [AppConfiguration], _ line: Transport
    ) -> [AppID: VerifyReceiptClient] {
        var verifications: [AppID: VerifyReceiptClient] = [:]
        for app in apps {
            guard let secret = app.settings.sharedSecret, let hosts = app.receiptHosts else {
                continue
            }
            verifications[app.settings.id] = VerifyReceiptClient(
                secret, now: line.now, send: line.sender(of: app, to: hosts))
        }
        return verifications
    }

    private static func reports(
        of apps: [AppConfiguration], _ line: Transport
    ) -> [AppID: ReportFileSource] {
        var reports: [AppID: ReportFileSource] = [:]
        for app in apps {
            guard let access = app.appStore?.reports else { continue }
            let client = AppStoreClient(
                access.credentials, now: line.now,
                pacing: app.settings.isSimulated ? .unlimited : .waiting(),
                send: line.sender(of: app, to: access.hosts))
            reports[app.settings.id] = .limited(
                client: client, vendorNumber: access.vendorNumber, regions: access.regions)
        }
        return reports
    }

    /// Returns nil if the configuration has no key for the app.
    package func client(of app: AppID) -> AppStoreClient? { clients[app] }

    /// Returns nil if the configuration has no shared secret for the app.
    package func verification(of app: AppID) -> VerifyReceiptClient? { verifications[app] }

    /// Returns nil if the configuration has no key for reports for the app.
    package func reportFileSource(of app: AppID) -> ReportFileSource? { reports[app] }

    /// The minimum time by which our clock is ahead of the App Store's clock. Negative if our clock
    /// is behind. Nil if the real App Store has not responded yet.
    package var clockAhead: Duration? { line.distance.ahead }

    /// Returns the settings with which a server of these apps checks purchases.
    package func reconciliation(lease: Duration = ReconciliationSettings.lease)
        -> ReconciliationSettings
    {
        var reconciliation = ReconciliationSettings(
            worker: .ofThisProcess(lease: lease), appStore: client)
        reconciliation.receiptVerification = verification
        reconciliation.reports = { [reports] in reports[$0] }
        reconciliation.clockAhead = { [line] in line.distance.ahead }
        return reconciliation
    }
}

/// The App Store of ``LocalStack``. This App Store is not available until the simulator listens.
/// The simulator starts after the server, because it needs the server's address.
final class DeferredAppStore: Sendable {
    private let latest = Mutex<(client: AppStoreClient, verification: VerifyReceiptClient)?>(nil)

    var client: AppStoreClient? { latest.withLock { $0?.client } }
    var verification: VerifyReceiptClient? { latest.withLock { $0?.verification } }

    func follow(_ client: AppStoreClient, _ verification: VerifyReceiptClient) {
        latest.withLock { $0 = (client, verification) }
    }
}

extension AppStoreCredentials {
    /// Returns credentials with the key that every simulator accepts.
    static func simulated(bundleID: String) throws(UnusableKey) -> AppStoreCredentials {
        try AppStoreCredentials(
            keyID: APIKey.wellKnown.id, issuerID: APIKey.wellKnown.issuerID, bundleID: bundleID,
            privateKey: APIKey.wellKnownPEM)
    }
}

extension ReportFileSource {
    /// Decompresses fetched files within the limits of an import.
    package static func limited(
        client: AppStoreClient, vendorNumber: String,
        regions: [String] = [FinanceReportRequest.allRegions]
    ) -> Self {
        ReportFileSource(client: client, vendorNumber: vendorNumber, regions: regions) { bytes in
            try Gzip.decompressed(bytes, bytesMax: AppleReportsImportCommand.contentBytesMax)
        }
    }
}
