import HTTPServer
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// The addresses at which the server listens, and what each answers.
struct ServerAddresses {
    struct Place {
        let address: ListenAddress
        let listener: Listener
        /// What the address is for, in the log.
        let name: String
        /// The setting that chooses it.
        var setting: String?

        var flag: String { setting ?? "--port" }
        var hostFlag: String { setting ?? "--host" }
    }

    private(set) var all: [Place]

    init(_ settings: Settings) {
        let hasMetrics = settings.metricsAddress == nil
        all = [
            Place(
                address: ListenAddress(host: settings.host, port: settings.port),
                listener: .main(
                    hasMetrics: hasMetrics, hasSecretKeys: settings.secretAddress == nil,
                    hasDashboard: settings.dashboardAddress == nil),
                name: "everything")
        ]
        if let address = settings.metricsAddress {
            all.append(
                Place(
                    address: address, listener: .metrics, name: "metrics",
                    setting: "listen_metrics"))
        }
        if let address = settings.secretAddress {
            all.append(
                Place(
                    address: address, listener: .secret(hasMetrics: hasMetrics),
                    name: "secret keys", setting: "listen_secret"))
        }
        if let address = settings.dashboardAddress {
            all.append(
                Place(
                    address: address, listener: .dashboard, name: "dashboard",
                    setting: "listen_dashboard"))
        }
    }

    /// Listens on each address for a moment, so that a start that cannot be fails before anything
    /// is done with the database. Another program can still be faster afterwards: then the
    /// listener's service fails.
    ///
    /// - Throws: ``StartFailure`` if an address cannot be listened on.
    func requireFree() async throws {
        for place in all {
            let (host, port) = (place.address.host, place.address.port)
            let failure = ListenFailure(
                host: host, port: port, flag: place.flag, hostFlag: place.hostFlag)
            try await failure.explained {
                let channel = try await ServerBootstrap(
                    group: MultiThreadedEventLoopGroup.singleton
                )
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: host, port: port).get()
                try await channel.close()
            }
        }
    }

    func services(of live: LiveServer, _ logger: Logger) -> [any Service] {
        all.map { service(at: $0, of: live, logger) }
    }

    private func service(
        at place: Place, of live: LiveServer, _ logger: Logger
    ) -> any Service {
        let address = place.address
        let isAlone = all.count == 1
        let app = live.application(
            place.listener, host: address.host, port: address.port
        ) { port in
            var metadata: Logger.Metadata = [
                "host": .string(address.host), "port": .stringConvertible(port),
            ]
            if !isAlone { metadata["for"] = .string(place.name) }
            logger.notice("listening", metadata: metadata)
        }
        return HTTPListener(
            app: app, host: address.host, port: address.port, flag: place.flag,
            hostFlag: place.hostFlag)
    }
}
