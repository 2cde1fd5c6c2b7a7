import Foundation
import HTTPServer
import Logging
import NIOCore
import ServiceLifecycle

/// The addresses at which the server listens, and what each serves.
struct ServerAddresses {
    struct Place {
        let address: ListenAddress
        let listener: Listener
        /// The purpose of the address, for the log.
        let name: String
        /// The setting that chooses the address; nil for the address of `host` and `port`.
        var setting: String?
        /// Whether the address uses TLS if the server has a certificate. The address for metrics
        /// does not: its clients use an IP address, for which no certificate is issued.
        var hasTLS: Bool { listener != .metrics }

        var flag: String { setting ?? "--port" }
        var hostFlag: String { setting ?? "--host" }
    }

    private(set) var all: [Place]

    init(_ settings: ProcessSettings) {
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

    /// Checks that the server can listen at each address. If the server cannot listen, the start
    /// fails before the database is changed. Another program can still take the address afterwards.
    /// In this case, the listener's service fails.
    ///
    /// - Throws: ``StartFailure`` if an address cannot be listened on.
    func requireFree() async throws {
        for place in all {
            let (host, port) = (place.address.host, place.address.port)
            let failure = ListenFailure(
                host: host, port: port, flag: place.flag, hostFlag: place.hostFlag)
            try await failure.explained {
                try SocketAddress.makeAddressResolvingHost(host, port: port).requireFree()
            }
        }
    }

    /// The services that listen at the addresses.
    ///
    /// - Parameter certificate: nil if the server uses plain HTTP.
    func services(
        of live: LiveServer, _ certificate: LiveCertificate?, _ logger: Logger
    ) -> [any Service] {
        all.map { service(at: $0, of: live, $0.hasTLS ? certificate : nil, logger) }
    }

    private func service(
        at place: Place, of live: LiveServer, _ certificate: LiveCertificate?, _ logger: Logger
    ) -> any Service {
        let address = place.address
        let isAlone = all.count == 1
        let app = live.application(
            place.listener, host: address.host, port: address.port, certificate: certificate
        ) { port in
            var metadata: Logger.Metadata = [
                "host": .string(address.host), "port": .stringConvertible(port),
            ]
            if !isAlone { metadata["for"] = .string(place.name) }
            if certificate != nil { metadata["scheme"] = "https" }
            logger.notice("listening", metadata: metadata)
        }
        return HTTPListener(
            app: app, host: address.host, port: address.port, flag: place.flag,
            hostFlag: place.hostFlag)
    }
}

extension SocketAddress {
    /// Binds a socket to the address, and closes it. The socket never listens: a client that
    /// connected to it would wait for an answer in vain.
    ///
    /// - Throws: `IOError` if the address cannot be bound, for example because another program
    ///   listens there.
    fileprivate func requireFree() throws {
        #if canImport(Darwin)
            let stream = SOCK_STREAM
        #else
            let stream = CInt(SOCK_STREAM.rawValue)
        #endif
        let family = withSockAddr { address, _ in CInt(address.pointee.sa_family) }
        let descriptor = socket(family, stream, 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        defer { close(descriptor) }
        // Sets the listener's option, so that closed connections of an earlier server do not
        // prevent binding.
        var reuses: CInt = 1
        let length = socklen_t(MemoryLayout<CInt>.size)
        guard setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuses, length) == 0 else {
            throw IOError(errnoCode: errno, reason: "setsockopt")
        }
        let code = withSockAddr { bind(descriptor, $0, socklen_t($1)) }
        guard code == 0 else { throw IOError(errnoCode: errno, reason: "bind") }
    }
}
