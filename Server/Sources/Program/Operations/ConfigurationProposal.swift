import Engine
import Foundation
import HTTPServer
import Ledger

/// A configuration that somebody has pasted, to see what it would change. It is read like the file
/// whose place it would have, with one difference: it leads to no file, folder or variable that the
/// present one does not name. Otherwise whoever may paste could find out what this machine has.
struct ConfigurationProposal {
    private let present: [AppConfiguration]
    private let proposed: [AppConfiguration]

    /// - Parameter path: the file whose place it would have.
    /// - Throws: ``ConfigurationFailure`` or ``StartFailure`` if either cannot be used.
    init(_ text: String, inPlaceOf path: String) throws {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw StartFailure(
                "The present configuration cannot be read.", remedy: "Look at the server's log.")
        }
        let old = String(decoding: bytes, as: UTF8.self)
        let folder = ConfigurationFolder(of: URL(fileURLWithPath: path))
        let environment = ProcessInfo.processInfo.environment
        let names = NamedPaths()
        present = try ConfigurationFile(
            old, environment: environment,
            folder: {
                names.folders.insert($0)
                return folder.folder($0)
            },
            file: {
                names.files.insert($0)
                return folder.contents($0)
            }
        ).apps
        proposed = try Self.apps(
            text, environment: environment.filter { old.contains($0.key) },
            folder: { names.folders.contains($0) ? folder.folder($0) : nil },
            file: { names.files.contains($0) ? folder.contents($0) : nil })
    }

    /// - Parameter apps: what is in force, of which there is no file.
    init(_ text: String, inPlaceOf apps: [AppConfiguration]) throws {
        present = apps
        proposed = try Self.apps(text, environment: [:], folder: { _ in nil }, file: { _ in nil })
    }

    private static func apps(
        _ text: String, environment: [String: String],
        folder: @escaping (String) -> String?, file: @escaping (String) -> [UInt8]?
    ) throws -> [AppConfiguration] {
        let read = try ConfigurationFile(
            text, environment: environment, folder: folder, file: file)
        _ = try Settings(flags: [:], environment: [:], file: read.settings)
        return read.apps
    }

    private var configuration: ProposedConfiguration {
        let apps = Set((present + proposed).map(\.settings.id))
        func only(_ app: AppID, _ all: [AppConfiguration]) -> [AppConfiguration] {
            all.filter { $0.settings.id == app }
        }
        return ProposedConfiguration(
            settings: Dictionary(
                uniqueKeysWithValues: proposed.map { ($0.settings.id, $0.settings) }),
            differences: Dictionary(
                uniqueKeysWithValues: apps.map { app in
                    // The first line names the app, or says that there is none.
                    let lines = ConfigChange.differences(only(app, present), only(app, proposed))
                    return (app, lines.dropFirst().map { String($0.trimmingPrefix("  ")) })
                }))
    }

    /// What a server calls to read pasted configurations.
    static func reading(inPlaceOf path: String) -> ProposedConfiguration.Reading {
        { text in try refusing { try Self(text, inPlaceOf: path) } }
    }

    static func reading(inPlaceOf apps: [AppConfiguration]) -> ProposedConfiguration.Reading {
        { text in try refusing { try Self(text, inPlaceOf: apps) } }
    }

    private static func refusing(_ read: () throws -> Self) throws -> ProposedConfiguration {
        do { return try read().configuration } catch let failure as ConfigurationFailure {
            throw ProposedConfiguration.Refusal(
                problems: failure.complaints.map { withoutValues($0.text(file: "line")) })
        } catch let failure as StartFailure {
            throw ProposedConfiguration.Refusal(
                problems: [withoutValues("\(failure.message) \(failure.remedy)")])
        }
    }

    /// What a message quotes may be a secret that stands in the wrong place.
    private static func withoutValues(_ message: String) -> String {
        message.replacing(/“[^”]*”/, with: "“…”")
    }
}

/// What a configuration names, collected while it is read.
private final class NamedPaths {
    var files: Set<String> = []
    var folders: Set<String> = []
}
