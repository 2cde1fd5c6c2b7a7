import AppStoreFormats
import ArgumentParser
import AsyncHTTPClient
import Foundation
import HTTPServer
import Logging
import PerennialContract
import ServiceLifecycle
import Simulator

/// Runs the App Store simulator alone.
struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Start the App Store simulator alone.")

    @Option(help: "The address to listen on.") var host = "127.0.0.1"
    @Option(help: "The port to listen on.") var port = 8090
    @Option(help: "A host name that clients use, besides names of this machine.")
    var hostName: [String] = []
    @Option(help: "The products: a .storekit file from Xcode, instead of the example.")
    var shop: String?
    @Option(help: "Report the problems of a .storekit file, and exit.")
    var lint: String?
    @Option(help: "Settings beyond the shop file: YAML with the fields of POST /_sim/reset.")
    var world: String?
    @Option(help: "The app's bundle id.") var bundleID = ExampleShop.bundleID
    @Option(help: "The app's Apple id.") var appAppleID = ExampleShop.appAppleID
    @Option(help: "The URL to post notifications to.") var notificationURL: String?
    @Option(help: "The seed for everything random.") var seed: UInt64 = 1
    @Option(help: "The start of virtual time, as RFC 3339.") var now: String?
    @Option(help: "The folder for the simulator's root certificate.") var data = ".perennial"
    @Option(help: "The OCSP URL in certificates, for online checks: http://…/_sim/ocsp.")
    var ocspURL: String?
    @Flag(help: "Also derive keys and signatures from the seed, so that runs are identical.")
    var deterministic = false
    @OptionGroup(title: "A population") var people: PopulationOptions
    @Option(help: "The log level.", transform: Log.level)
    var logLevel = Logger.Level.notice

    func run() async throws {
        try await Outcome.reportingFailures {
            if let lint { return try report(on: lint) }
            try people.check()
            try ProcessSettings.port(String(port), for: "--port")
            var settings = SimulatorSettings(
                seed: seed, now: try beginning(), shop: try products(), bundleID: bundleID,
                appAppleID: appAppleID)
            settings.notificationURL = try address(notificationURL)
            settings.isDeterministic = deterministic
            if let world { settings = try WorldFile(path: world).settings(over: settings) }
            let authority = try authority(of: settings)
            if let accounts = people.population {
                return try people.play(accounts, settings, signedBy: authority)
            }
            try await HTTPClient.withHTTPClient(configuration: .notifications) { client in
                try await listen(
                    AppStoreSimulator(
                        settings, authority: authority,
                        post: NotificationSender(client: client).post))
            }
        }
    }

    private func listen(_ simulator: AppStoreSimulator) async throws {
        let logger = Log.start(logLevel)
        let face = SimulatorHost(
            simulator: simulator, host: host, port: port, flag: "--port", logger: logger,
            names: LocalNames(others: hostName)
        ) { port in
            print("simulator  http://localhost:\(port)")
            fflush(nil)
        }
        try await ServiceGroup(together: [face], stopsOnSignals: true, logger: logger).run()
    }

    private func authority(of settings: SimulatorSettings) throws -> SigningAuthority {
        settings.isDeterministic
            ? try SigningAuthority(seed: settings.seed, ocspURL: ocspURL)
            : try DevShop(folder: data).authority(ocspURL: ocspURL)
    }

    private func address(_ url: String?) throws(StartFailure) -> String? {
        guard let url else { return nil }
        guard SimulatorSettings.isPostableURL(url) else {
            throw StartFailure(
                "“\(url)” is not a URL that notifications can be posted to.",
                remedy: "Write it as http://127.0.0.1:8080/apple/notifications.")
        }
        return url
    }

    private func beginning() throws(StartFailure) -> AppStoreDate {
        guard let now else { return SimulatorSettings.defaultNow }
        guard let time = Timestamp(now) else {
            throw StartFailure(
                "“\(now)” is not a valid time.", remedy: "Write it as 2026-01-01T12:00:00Z.")
        }
        return AppStoreDate(milliseconds: time.milliseconds)
    }

    private func products() throws -> StoreKitFile {
        guard let shop else {
            // Random customers should be able to use every kind of product.
            return people.population == nil ? try ExampleShop.file() : try FullShop.file()
        }
        guard let bytes = FileManager.default.contents(atPath: shop) else {
            throw StartFailure("\(shop) cannot be read.", remedy: "Name a readable .storekit file.")
        }
        do { return try StoreKitFile(parsing: bytes) } catch {
            throw StartFailure(
                "\(shop) is no StoreKit configuration: \(error).", remedy: "Save it in Xcode again."
            )
        }
    }
}
