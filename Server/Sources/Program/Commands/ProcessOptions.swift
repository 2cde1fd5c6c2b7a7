import ArgumentParser
import Engine
import Foundation
import Ledger
import Logging

/// The options of all commands that use a configuration and its database.
struct ProcessOptions: ParsableArguments {
    @Option(help: "The configuration. Variable: PERENNIAL_CONFIG. Default: perennial.yaml.")
    var config: String?
    @Option(
        help: """
            A file or postgres://… Variable: PERENNIAL_DATABASE. Default: \
            .perennial/perennial.sqlite.
            """)
    var database: String?
    @Option(help: "The log level. Variable: PERENNIAL_LOG_LEVEL. Default: info.")
    var logLevel: String?

    var configPath: String {
        ProcessSettings.configPath(flag: config, environment: ProcessInfo.processInfo.environment)
    }

    func settings(
        _ file: ConfigurationFile, flags: [String: String?] = [:]
    ) throws(StartFailure) -> ProcessSettings {
        var given = flags.compactMapValues { $0 }
        given["database"] = database
        given["log_level"] = logLevel
        return try ProcessSettings(
            flags: given, environment: ProcessInfo.processInfo.environment, file: file.settings)
    }
}

/// The options of commands that work on a database: a production database, or that of `perennial
/// dev`.
struct DatabaseOptions: ParsableArguments {
    @OptionGroup var process: ProcessOptions
    @OptionGroup var simulator: SimulatorOptions
    @Option(help: "The folder of `perennial dev`. Without --config, the example app is used.")
    var data: String?

    func assembly(for purpose: Assembly.Purpose) async throws -> Assembly {
        if let data { return try await development(in: DevShop(folder: data), for: purpose) }
        let file = try configurationFile()
        Outcome.warn(of: file, at: process.configPath)
        let settings = try process.settings(file)
        return try await simulator.assembly(of: file.apps, settings, for: purpose)
    }

    /// Reads the configuration of a server.
    func configurationFile() throws -> ConfigurationFile {
        let path = process.configPath
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw StartFailure(
                "\(path) cannot be read.",
                remedy: "Write one as docs/configuration.md shows, or name another with --config. "
                    + "For the data of `bin/dev` use --data .perennial instead.")
        }
        return try ConfigurationFile(path: path)
    }

    private func development(
        in shop: DevShop, for purpose: Assembly.Purpose
    ) async throws -> Assembly {
        guard let world = try shop.lastWorld() else {
            throw StartFailure(
                "\(shop.folder.path) has no development database.", remedy: "Run bin/dev first.")
        }
        let app = try shop.app(of: process.config)
        let now = Instant(milliseconds: world.now)
        let assembly = try await Assembly(
            apps: [app], databaseAddress: process.database ?? shop.databaseAddress, for: purpose,
            simulatorRoot: try shop.authority().rootDER,
            receiptRoot: try shop.authority().receipts.rootDER, now: { now },
            logger: Log.start(.warning))
        do {
            guard try await assembly.engine.keys.hasKeys(app.settings.id) else {
                throw StartFailure(
                    "\(shop.folder.path) does not belong to the app \(app.settings.id).",
                    remedy: "Add --config with the configuration that was used for it.")
            }
        } catch {
            assembly.database.close()
            throw error
        }
        return assembly
    }
}

extension Assembly {
    /// Returns the named app, or the only app if no name is given.
    func app(named name: String?) throws(StartFailure) -> AppID {
        try apps.map(\.id).app(named: name)
    }
}

extension [AppID] {
    /// Returns the named app, or the only app if no name is given.
    func app(named name: String?) throws(StartFailure) -> AppID {
        let known = map(\.rawValue).sorted()
        guard let name = name ?? (known.count == 1 ? known.first : nil) else {
            throw StartFailure(
                "There are several apps.",
                remedy: "Name one with --app: \(known.joined(separator: ", ")).")
        }
        guard known.contains(name) else {
            throw StartFailure(
                "There is no app \(name).",
                remedy: Spelling.remedy(
                    for: name, among: known, else: "Use one of \(known.joined(separator: ", "))."))
        }
        return AppID(rawValue: name)
    }
}
