import ArgumentParser
import Engine
import Foundation
import Ledger

/// Shows what a change of the configuration would do, and applies it.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Preview a change of the configuration, and apply it.",
        subcommands: [Diff.self, Apply.self, Export.self])

    struct Diff: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what a new configuration changes, and whose access it would end.")

        @Argument(
            help: "The new configuration. Relative paths in it start at the old one's folder.")
        var new: String
        @OptionGroup var process: ProcessOptions
        @OptionGroup var simulator: SimulatorOptions

        func run() async throws {
            try await Outcome.reportingFailures {
                _ = try await ConfigChange(to: new, process).printDifferences(by: simulator)
            }
        }
    }

    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace the configuration with a new one. Servers read it when they "
                + "start, and on SIGHUP.")

        @Argument(
            help: "The new configuration. Relative paths in it start at the old one's folder.")
        var new: String
        @Flag(help: "Apply the configuration even if access would end.") var shutAccess = false
        @OptionGroup var process: ProcessOptions
        @OptionGroup var simulator: SimulatorOptions

        func run() async throws {
            try await Outcome.reportingFailures {
                let change = try ConfigChange(to: new, process)
                let shut = try await change.printDifferences(by: simulator)
                guard shut == 0 || shutAccess else {
                    throw StartFailure(
                        "The change would end access to \(shut.counted("entitlement")). It was not "
                            + "applied.",
                        remedy: "Correct the configuration, or add --shut-access if intended.")
                }
                guard !change.isOfAnotherDatabase || shutAccess else {
                    throw StartFailure(
                        "The change uses another database, without the customers' data. It "
                            + "was not applied.",
                        remedy: "Keep the database setting. If you want to change it, copy "
                            + "the database with `perennial migrate` and add --shut-access.")
                }
                guard try change.apply() else {
                    return print("The two files are identical. Nothing was written.")
                }
                print(
                    "Applied. Send each server SIGHUP, or restart it. The old configuration is "
                        + "\(change.keptPath).")
            }
        }
    }
}

/// A change from the current configuration to a new one.
struct ConfigChange {
    private let path: String
    /// The file that is replaced: if ``path`` is a symbolic link, the link's target, so that the
    /// link stays.
    private let file: String
    private let text: Data
    private let old: ConfigurationFile
    private let new: ConfigurationFile
    private let process: ProcessOptions

    init(to newPath: String, _ process: ProcessOptions) throws {
        self.process = process
        path = process.configPath
        file = Disk.resolved(path) ?? path
        old = try Outcome.configuration(at: path)
        new = try ConfigurationFile(
            path: newPath, inPlaceOf: URL(fileURLWithPath: path))
        Outcome.warn(of: new, at: newPath)
        // Validates the settings of the file alone, because flags and environment variables of this
        // process may not apply to a server.
        _ = try ProcessSettings(flags: [:], environment: [:], file: new.settings)
        guard let text = FileManager.default.contents(atPath: newPath) else {
            throw StartFailure("\(newPath) cannot be read.", remedy: "Let this user read it.")
        }
        self.text = text
    }

    /// The path of the copy of the old configuration.
    var keptPath: String { file + ".before" }

    /// Whether servers would use another database after the change.
    var isOfAnotherDatabase: Bool {
        Self.isAnotherDatabase(old.settings, new.settings)
    }

    /// Prints the changes and returns how many entitlements would end.
    func printDifferences(by simulator: SimulatorOptions) async throws -> Int {
        for line in Self.differences(old.apps, new.apps)
            + Self.settingDifferences(old.settings, new.settings)
        { print(line) }
        if isOfAnotherDatabase {
            print("Another database: customers with access through the current one would lose it.")
        }
        let settings = try process.settings(old)
        // If the database does not exist yet, it gives nobody access.
        guard try await DatabaseAddress.version(of: settings.database) > 0 else { return 0 }
        let assembly = try await simulator.assembly(of: old.apps, settings, for: .inspecting)
        defer { assembly.database.close() }
        var shut = 0
        for app in old.apps.map(\.settings) {
            var changed =
                new.apps.map(\.settings).first { $0.id == app.id }
                ?? app
            // If an app is no longer configured, nobody keeps access to it.
            if !new.apps.contains(where: { $0.settings.id == app.id }) {
                changed.entitlements = [:]
            }
            guard changed != app else { continue }
            let impact = try await assembly.engine.maintenance.impact(of: changed) { count in
                if count % 10_000 == 0 { Outcome.printError("  \(count.counted("customer")) …") }
            }
            shut += impact.lost
            for line in Self.lines(of: impact, app.id) { print(line) }
        }
        return shut
    }

    /// Replaces the configuration and keeps the old one next to it. The replacement is atomic: a
    /// reader sees either the old file or the new one.
    ///
    /// - Returns: false if the files are identical. In this case, the copy from an earlier change
    ///   also stays.
    func apply() throws -> Bool {
        guard FileManager.default.contents(atPath: file) != text else { return false }
        do { try Self.replace(file, by: text, keeping: keptPath) } catch let failure as StartFailure
        {
            throw failure
        } catch {
            throw StartFailure(
                "The configuration could not be replaced: \(error.localizedDescription)",
                remedy: "Give this user permission to write to its folder.")
        }
        return true
    }

    /// Replaces a file atomically: after a power failure, the file has either the old bytes or the
    /// new ones. The new file gets the owner, group and permissions of the old file.
    static func replace(_ path: String, by text: Data, keeping kept: String) throws {
        let files = FileManager.default
        guard let old = FileStatus(path: path) else { throw CocoaError(.fileNoSuchFile) }
        let next = path + ".next"
        if files.fileExists(atPath: next) { try files.removeItem(atPath: next) }
        guard
            files.createFile(atPath: next, contents: text, attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown) }
        do {
            try old.apply(to: next, of: path)
            if files.fileExists(atPath: kept) { try files.removeItem(atPath: kept) }
            try files.copyItem(atPath: path, toPath: kept)
            try old.apply(to: kept, of: path)
            try Disk.sync(next)
            try Disk.rename(next, to: path)
            try Disk.syncFolder(of: path)
        } catch {
            // Removes the partial file, so that a later attempt can create it.
            try? files.removeItem(atPath: next)
            throw error
        }
    }

    // MARK: - Text

    /// The differences in the settings that affect customers, and in the `.storekit` files.
    static func differences(_ old: [AppConfiguration], _ new: [AppConfiguration]) -> [String] {
        let (before, after) = (linesByApp(old), linesByApp(new))
        var lines: [String] = []
        for id in Set(before.keys).union(after.keys).sorted() {
            let (gone, came) = (before[id] ?? [], after[id] ?? [])
            guard gone != came else { continue }
            lines.append("app \(id)")
            lines += gone.subtracting(came).sorted().map { "  - \($0)" }
            lines += came.subtracting(gone).sorted().map { "  + \($0)" }
        }
        return lines.isEmpty ? ["No change affects customers."] : lines
    }

    private static func linesByApp(_ apps: [AppConfiguration]) -> [AppID: Set<String>] {
        Dictionary(
            apps.map { ($0.settings.id, Set($0.settings.lines + ($0.storeKit?.lines ?? []))) }
        ) { one, _ in one }
    }

    /// The differences in the settings of the process. A setting that is left out has its default
    /// value.
    static func settingDifferences(_ old: [String: String], _ new: [String: String]) -> [String] {
        let changed = ProcessSettings.fileKeys.filter { old[$0] != new[$0] }.sorted()
        func lines(_ sign: String, _ settings: [String: String]) -> [String] {
            changed.compactMap { key in
                settings[key].map { "  \(sign) \(key) \(DatabaseAddress.withoutPassword($0))" }
            }
        }
        return changed.isEmpty ? [] : ["settings"] + lines("-", old) + lines("+", new)
    }

    /// Whether servers would use another database. Two addresses that differ only in the password
    /// mean the same database. In an address of `key=value` pairs the password cannot be
    /// recognised, so any difference counts.
    static func isAnotherDatabase(_ old: [String: String], _ new: [String: String]) -> Bool {
        let addresses = [old, new].map { $0["database"] ?? ProcessSettings.databaseDefault }
        guard !addresses.contains(where: DatabaseAddress.isKeyValueForm) else {
            return addresses[0] != addresses[1]
        }
        return DatabaseAddress.withoutPassword(addresses[0])
            != DatabaseAddress.withoutPassword(addresses[1])
    }

    private static func lines(of impact: Impact, _ app: AppID) -> [String] {
        var lines = [
            "\(app): \(impact.customers.counted("customer")) checked; "
                + "\(impact.lost.counted("entitlement")) would end, \(impact.gained) would begin."
        ]
        lines += impact.changes.sorted { $0.key < $1.key }.map { part, change in
            "  \(part.entitlement) (\(part.environment.rawValue)): "
                + "\(change.losing.counted("customer")) would lose it, "
                + "\(change.gaining) would gain it"
        }
        lines += impact.firstLosses.map {
            "  \($0.customer) would lose \($0.entitlement) (\($0.environment.rawValue))"
        }
        if impact.lost > impact.firstLosses.count {
            lines.append("  and \(impact.lost - impact.firstLosses.count) more")
        }
        return lines
    }
}
