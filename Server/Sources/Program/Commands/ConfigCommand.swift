import ArgumentParser
import Engine
import Foundation
import Ledger

/// A change of the configuration is looked at before it is made.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Look at a change of the configuration, and make it.",
        subcommands: [Diff.self, Apply.self])

    struct Diff: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say what a new configuration changes, and whose access it would shut.")

        @Argument(help: "The new configuration, read as if it stood in the old one's place.")
        var new: String
        @OptionGroup var process: ProcessOptions
        @OptionGroup var simulator: SimulatorOptions

        func run() async throws {
            try await Outcome.reported {
                _ = try await ConfigChange(to: new, process).show(by: simulator)
            }
        }
    }

    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put a new configuration in the old one's place; servers read it when they "
                + "start.")

        @Argument(help: "The new configuration, read as if it stood in the old one's place.")
        var new: String
        @Flag(help: "Also where access would be shut.") var shutAccess = false
        @OptionGroup var process: ProcessOptions
        @OptionGroup var simulator: SimulatorOptions

        func run() async throws {
            try await Outcome.reported {
                let change = try ConfigChange(to: new, process)
                let shut = try await change.show(by: simulator)
                guard shut == 0 || shutAccess else {
                    throw StartFailure(
                        "It would shut access of \(shut) entitlements, and was not applied.",
                        remedy: "Change it; or, if that is what you want, add --shut-access.")
                }
                guard !change.isOfAnotherDatabase || shutAccess else {
                    throw StartFailure(
                        "The database would be another one, and nobody has what this one says: it "
                            + "was not applied.",
                        remedy: "Leave the database as it is; or, if that is what you want, copy "
                            + "it with `perennial migrate`, and add --shut-access.")
                }
                guard try change.apply() else {
                    return print("The two files are the same: nothing was written.")
                }
                print("Applied: restart the servers. The old one is \(change.kept).")
            }
        }
    }
}

/// From the configuration that stands to another.
struct ConfigChange {
    private let path: String
    /// What the path leads to: a link stays, and what it names is replaced.
    private let file: String
    private let text: Data
    private let old: ConfigurationFile
    private let new: ConfigurationFile
    private let process: ProcessOptions

    init(to newPath: String, _ process: ProcessOptions) throws {
        self.process = process
        path = process.configPath
        file = Self.behindLinks(path)
        old = try Outcome.configuration(at: path)
        new = try ConfigurationFile(
            path: newPath, inPlaceOf: URL(fileURLWithPath: path))
        Outcome.warn(of: new, at: newPath)
        // By the file alone: what this process is told otherwise, a server may not be told.
        _ = try Settings(flags: [:], environment: [:], file: new.settings)
        guard let text = FileManager.default.contents(atPath: newPath) else {
            throw StartFailure("\(newPath) cannot be read.", remedy: "Let this user read it.")
        }
        self.text = text
    }

    /// Where the old one goes.
    var kept: String { file + ".before" }

    /// Whether servers would look elsewhere for what customers have.
    var isOfAnotherDatabase: Bool {
        Self.isAnotherDatabase(old.settings, new.settings)
    }

    /// Prints what changes; returns how many entitlements would be shut.
    func show(by simulator: SimulatorOptions) async throws -> Int {
        let apps = Self.differences(old.apps.map(\.settings), new.apps.map(\.settings))
        for line in apps + Self.settingDifferences(old.settings, new.settings) { print(line) }
        if isOfAnotherDatabase {
            print("Another database: whoever has something by the present one would be shut out.")
        }
        let settings = try process.settings(old)
        // Of a database that is not there yet nobody has anything.
        guard try await DatabaseAddress.version(of: settings.database) > 0 else { return 0 }
        let assembly = try await simulator.assembly(of: old.apps, settings, for: .looking)
        defer { assembly.database.close() }
        var shut = 0
        for app in old.apps.map(\.settings) {
            var changed =
                new.apps.map(\.settings).first { $0.id == app.id }
                ?? app
            // Of an app that is not there any more nobody has anything.
            if !new.apps.contains(where: { $0.settings.id == app.id }) {
                changed.entitlements = [:]
            }
            guard changed != app else { continue }
            let impact = try await assembly.engine.impact(of: changed) { count in
                if count % 10_000 == 0 { Outcome.toStandardError("  \(count) customers …") }
            }
            shut += impact.shut
            for line in Self.lines(of: impact, app.id) { print(line) }
        }
        return shut
    }

    /// The old one is kept beside it. Whoever reads meanwhile reads the one or the other.
    ///
    /// - Returns: whether there was anything to replace. Where not, what an earlier change left
    ///   beside it stays, too.
    func apply() throws -> Bool {
        guard FileManager.default.contents(atPath: file) != text else { return false }
        do { try Self.replace(file, by: text, keeping: kept) } catch let failure as StartFailure {
            throw failure
        } catch {
            throw StartFailure(
                "The configuration could not be replaced: \(error.localizedDescription)",
                remedy: "Let this user write to its folder.")
        }
        return true
    }

    /// The file itself, whatever symbolic links lead to it.
    static func behindLinks(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Whoever could read the old one can read the new one, and nobody else.
    static func replace(_ path: String, by text: Data, keeping kept: String) throws {
        let files = FileManager.default
        guard let old = FileStatus(path: path) else { throw CocoaError(.fileNoSuchFile) }
        let next = path + ".next"
        if files.fileExists(atPath: next) { try files.removeItem(atPath: next) }
        guard
            files.createFile(atPath: next, contents: text, attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown) }
        do {
            try old.pass(to: next, of: path)
            if files.fileExists(atPath: kept) { try files.removeItem(atPath: kept) }
            try files.copyItem(atPath: path, toPath: kept)
            try old.pass(to: kept, of: path)
            guard rename(next, path) == 0 else { throw CocoaError(.fileWriteNoPermission) }
        } catch {
            // What is half made would only be in the way.
            try? files.removeItem(atPath: next)
            throw error
        }
    }

    // MARK: - Words

    static func differences(_ old: [AppSettings], _ new: [AppSettings]) -> [String] {
        var lines: [String] = []
        for id in Set((old + new).map(\.id)).sorted() {
            let before = Set(old.first { $0.id == id }?.lines ?? [])
            let after = Set(new.first { $0.id == id }?.lines ?? [])
            guard before != after else { continue }
            lines.append("app \(id)")
            lines += before.subtracting(after).sorted().map { "  - \($0)" }
            lines += after.subtracting(before).sorted().map { "  + \($0)" }
        }
        return lines.isEmpty ? ["Nothing changes that customers would notice."] : lines
    }

    /// Of the settings of the process. What is left out has its default.
    static func settingDifferences(_ old: [String: String], _ new: [String: String]) -> [String] {
        let changed = Settings.fileKeys.filter { old[$0] != new[$0] }.sorted()
        func lines(_ sign: String, _ settings: [String: String]) -> [String] {
            changed.compactMap { key in
                settings[key].map { "  \(sign) \(key) \(DatabaseAddress.withoutPassword($0))" }
            }
        }
        return changed.isEmpty ? [] : ["settings"] + lines("-", old) + lines("+", new)
    }

    /// Another password leads to the same database. Of words nothing is told apart from a password.
    static func isAnotherDatabase(_ old: [String: String], _ new: [String: String]) -> Bool {
        let addresses = [old, new].map { $0["database"] ?? Settings.databaseDefault }
        guard !addresses.contains(where: DatabaseAddress.isWords) else {
            return addresses[0] != addresses[1]
        }
        return DatabaseAddress.withoutPassword(addresses[0])
            != DatabaseAddress.withoutPassword(addresses[1])
    }

    private static func lines(of impact: Impact, _ app: AppID) -> [String] {
        var lines = [
            "\(app): \(impact.customers) customers looked at; \(impact.shut) entitlements would "
                + "be shut, \(impact.opened) opened."
        ]
        lines += impact.firstShut.map {
            "  \($0.customer) would lose \($0.entitlement) (\($0.environment.rawValue))"
        }
        if impact.shut > impact.firstShut.count {
            lines.append("  and \(impact.shut - impact.firstShut.count) more")
        }
        return lines
    }
}
