import AppStoreClient
import AppStoreFormats
import Engine
import Foundation
import Ledger

/// What `perennial.yaml` says.
package struct ConfigurationFile: Sendable {
    package var apps: [AppConfiguration]
    /// What can also be a flag or an environment variable, by the flag's name.
    package var settings: [String: String]
    /// What is odd, but no reason not to start.
    package var warnings: [Complaint]

    /// Bytes of a configuration file.
    package static let bytesMax = 1_048_576
}

/// One app of the configuration, with the files that it names.
package struct AppConfiguration: Sendable {
    package var settings: AppSettings
    package var storeKit: StoreKitFile?
    package var extraRoots: [[UInt8]]
    /// Nil where the App Store cannot be asked.
    package var appStore: AppStoreAccess?
    /// Where receipts are asked about; nil for a simulated app that does not say where.
    package var receiptHosts: AppStoreHosts?
}

extension ConfigurationFile {
    /// Reads a file, and those that it names.
    ///
    /// - Throws: ``ConfigurationFailure`` with all that is wrong.
    ///
    /// - Parameter place: the file whose place it is to take: what it names is looked for there.
    package init(
        path: String, inPlaceOf place: URL? = nil
    ) throws(ConfigurationFailure) {
        let file = place ?? URL(fileURLWithPath: path)
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw ConfigurationFailure(
                complaints: [
                    Complaint(
                        message: "The file cannot be read.",
                        remedy: "Write one as docs/configuration.md shows, or name another.")
                ], file: path)
        }
        guard bytes.count <= Self.bytesMax, let text = String(data: bytes, encoding: .utf8) else {
            throw ConfigurationFailure(
                complaints: [
                    Complaint(
                        message: "The file is no UTF-8 text of at most \(Self.bytesMax) bytes.",
                        remedy: "Write it anew.")
                ], file: path)
        }
        let home = file.deletingLastPathComponent()
        let environment = ProcessInfo.processInfo.environment
        func whole(_ name: String) -> String { URL(fileURLWithPath: name, relativeTo: home).path }
        do {
            try self.init(
                text, environment: environment,
                folder: { name in
                    var isFolder: ObjCBool = false
                    let found = FileManager.default.fileExists(
                        atPath: whole(name), isDirectory: &isFolder)
                    return found && isFolder.boolValue ? whole(name) : nil
                },
                file: { FileManager.default.contents(atPath: whole($0)).map(Array.init) })
        } catch {
            var failure = error
            failure.file = path
            throw failure
        }
    }

    /// Reads a text. The variables that it names are handed in, and folders and files by functions,
    /// nil for one that is not there.
    package init(
        _ text: String, environment: [String: String] = [:],
        folder: @escaping (String) -> String? = { $0 }, file: @escaping (String) -> [UInt8]?
    ) throws(ConfigurationFailure) {
        var reader = ConfigurationReader(environment: environment, file: file, folder: folder)
        let result = reader.read(text)
        guard reader.complaints.isEmpty else {
            throw ConfigurationFailure(complaints: reader.complaints)
        }
        self = result
    }
}
