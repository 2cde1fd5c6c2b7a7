import ArgumentParser
import Foundation
import Logging
import ServiceLifecycle
import Simulator

/// Runs server and simulator in one process, for development.
struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Start the server and an App Store simulator with an example shop.")

    @Option(help: "The server's port.") var port = 8080
    @Option(help: "The simulator's port.") var simulatorPort = 8090
    @Option(help: "The address to listen on. Variable: PERENNIAL_HOST. Default: 127.0.0.1.")
    var host: String?
    @Option(help: "A host name for server and simulator, such as a tunnel's.")
    var hostName: [String] = []
    @Option(help: "The folder for the database and the simulator's root.") var data = ".perennial"
    @Option(help: "A database outside of that folder: a file, or postgres://...")
    var database: String?
    @Flag(help: "Delete the development database first.") var fresh = false
    @Option(help: "A perennial.yaml with one simulated app, instead of the example.")
    var config: String?
    @Option(help: "The log level.", transform: Log.level)
    var logLevel = Logger.Level.notice

    func run() async throws {
        let logger = Log.start(logLevel)
        try await Outcome.reportingFailures {
            try ProcessSettings.port(String(port), for: "--port")
            try ProcessSettings.port(String(simulatorPort), for: "--simulator-port")
            let shop = DevShop(folder: data)
            try DevShop.make(shop.folder)
            try requireOwnDatabaseToForget()
            let address = database ?? shop.databaseAddress
            let lock = try ServerLock.acquire(for: address)
            defer { lock?.release() }
            // Changes are not shipped here, so SQLite must move the frames of the log itself.
            if lock != nil { ShippedChain.remove(of: address) }
            if fresh { try shop.reset() }
            let app = try shop.app(of: config)
            let isContinued = try shop.lastWorld() != nil
            let world = try shop.nextWorld()
            var settings = try shop.settings(app, world, logger: logger)
            (settings.port, settings.simulatorPort) = (port, simulatorPort)
            settings.host = listenHost
            warnIfOthersCanConnect(to: settings)
            settings.hostNames = hostName + [settings.host]
            settings.databaseAddress = address
            settings.hasPhone = true
            try shop.save(world)
            let keeper = WorldTimeFile(world, in: shop)
            settings.keepTime = { try keeper.save(until: $0) }
            let keys = settings.keys.map(\.key)
            _ = try await LocalStack.run(settings, stopsOnSignals: true) { store in
                print(
                    Tour.text(
                        serverPort: store.serverPort, simulatorPort: store.simulatorPort,
                        appKey: keys[0], secretKey: keys[1], isExample: config == nil,
                        isContinued: isContinued))
                fflush(nil)
                try await store.saveTime(with: keeper)
            }
        }
    }
}

extension DevCommand {
    private var listenHost: String {
        host ?? ProcessInfo.processInfo.environment["PERENNIAL_HOST"] ?? ProcessSettings.hostDefault
    }

    private func warnIfOthersCanConnect(to settings: LocalStack.Settings) {
        guard !ListenAddress(host: settings.host, port: settings.port).isLoopback else { return }
        Outcome.printError(
            "warning: Listens on \(settings.host), so other machines may connect, and need no "
                + "secret: the keys are public. Publish the ports of a container on 127.0.0.1.")
    }

    /// Only the database in the data folder may be deleted. Any other database may contain more
    /// than development data.
    private func requireOwnDatabaseToForget() throws {
        guard fresh, database != nil else { return }
        throw StartFailure(
            "--fresh cannot be used with --database.",
            remedy: "Empty that database yourself, for example with dropdb and createdb, then run "
                + "perennial dev without --fresh.")
    }
}

extension LocalStack {
    var serverPort: Int { URL(string: serverURL)?.port ?? 0 }
    var simulatorPort: Int { URL(string: simulatorURL)?.port ?? 0 }

    /// Saves the time of a running clock once a second until cancelled, even while the simulator is
    /// busy. Every other act that moves the clock saves the time first.
    fileprivate func saveTime(with keeper: WorldTimeFile) async throws {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            try keeper.save(until: simulator.clock.now)
        }
    }
}
