import AppStoreClient
import AppStoreFormats
import Engine
import Foundation
import Ledger

/// The contents of `perennial.yaml`.
package struct ConfigurationFile: Sendable {
    package var apps: [AppConfiguration]
    /// The settings that a flag or an environment variable can also set. The dictionary's key is
    /// the name of the flag.
    package var settings: [String: String]
    /// The settings of the dashboard. Nil if `perennial serve` has no dashboard.
    package var dashboard: DashboardConfiguration?
    /// The settings of TLS. Nil if the server uses plain HTTP.
    package var tls: TLSSettings?
    /// Nil if the server makes no backups.
    package var backup: BackupSettings?
    /// Where traces are sent. Nil if the server sends none.
    package var traces: TraceSettings?
    /// Nil if the server sends no alerts.
    package var alerts: AlertSettings?
    /// The limits of a server's callers.
    package var limits = LimitSettings()
    /// Oddities that do not prevent a start.
    package var warnings: [ConfigurationProblem]
    /// Oddities that matter only to a server.
    package var servingWarnings: [ConfigurationProblem] = []

    /// The maximum size of a configuration file, in bytes.
    package static let bytesMax = 1_048_576
}

/// One app of the configuration, with the files that it names.
package struct AppConfiguration: Sendable {
    package var settings: AppSettings
    package var storeKit: StoreKitFile?
    package var extraRoots: [[UInt8]]
    /// How the app uses the App Store. Nil if the configuration has no App Store key for the app.
    package var appStore: AppStoreAccess?
    /// The hosts that verify receipts. Nil for a simulated app without such an address.
    package var receiptHosts: AppStoreHosts?
}

extension ConfigurationFile {
    /// Reads a configuration file and the files that it names.
    ///
    /// - Parameter place: the file that this one will replace. Relative paths are resolved from
    /// its folder.
    /// - Throws: ``ConfigurationFailure`` with all problems.
    package init(
        path: String, inPlaceOf place: URL? = nil
    ) throws(ConfigurationFailure) {
        let file = place ?? URL(fileURLWithPath: path)
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw ConfigurationFailure(
                complaints: [
                    ConfigurationProblem(
                        message: "The file cannot be read.",
                        remedy: "Write a file as docs/configuration.md shows, or name another file."
                    )
                ], file: path)
        }
        guard bytes.count <= Self.bytesMax, let text = String(data: bytes, encoding: .utf8) else {
            throw ConfigurationFailure(
                complaints: [
                    ConfigurationProblem(
                        message: "The file is not UTF-8 text of at most \(Self.bytesMax) bytes.",
                        remedy: "Save it as UTF-8 text of at most that size.")
                ], file: path)
        }
        let folder = ConfigurationFolder(of: file)
        do {
            try self.init(
                text, environment: ProcessInfo.processInfo.environment, folder: folder.folder,
                file: folder.contents)
        } catch {
            var failure = error
            failure.file = path
            throw failure
        }
    }

    /// Parses a configuration text.
    ///
    /// - Parameter environment: the environment variables that the text may name.
    /// - Parameter folder: returns the path of a folder, or nil if the folder does not exist.
    /// - Parameter file: returns the contents of a file, or nil if the file does not exist.
    package init(
        _ text: String, environment: [String: String] = [:],
        folder: @escaping (String) -> String? = { $0 }, file: @escaping (String) -> [UInt8]?
    ) throws(ConfigurationFailure) {
        try self.init(
            text,
            sources: ConfigurationSources(
                variable: { _, name in environment[name] }, folder: { _, name in folder(name) },
                file: { _, name in file(name) }))
    }

    /// Parses a configuration text.
    init(_ text: String, sources: ConfigurationSources) throws(ConfigurationFailure) {
        var reader = ConfigurationReader(sources: sources)
        let result = reader.read(text)
        guard reader.complaints.isEmpty else {
            throw ConfigurationFailure(complaints: reader.complaints.inFileOrder)
        }
        self = result
    }
}

/// Resolves the variables, folders and files that a configuration names. Each closure gets the app
/// whose settings contain the name (nil outside of apps), and the name itself.
struct ConfigurationSources {
    /// The value of an environment variable. Returns nil if the variable is not set.
    var variable: (AppID?, String) -> String?
    /// The full path of a folder. Returns nil if the folder does not exist.
    var folder: (AppID?, String) -> String?
    /// The contents of a file. Returns nil if the file does not exist.
    var file: (AppID?, String) -> [UInt8]?
}

/// The folder of a configuration file. Relative paths in the file begin there.
struct ConfigurationFolder {
    private let url: URL

    init(of file: URL) { url = file.deletingLastPathComponent() }

    init(of path: String) { self.init(of: URL(fileURLWithPath: path)) }

    /// The full path of a folder. Returns nil if the folder does not exist.
    func folder(_ name: String) -> String? {
        var isFolder: ObjCBool = false
        let path = path(name)
        let found = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        return found && isFolder.boolValue ? path : nil
    }

    /// The contents of a file. Returns nil if the file does not exist.
    func contents(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path(name)).map(Array.init)
    }

    /// The full path of a file or folder, whether it exists or not.
    func path(_ name: String) -> String {
        URL(fileURLWithPath: name, relativeTo: url).path
    }
}
