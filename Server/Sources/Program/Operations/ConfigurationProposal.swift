import Engine
import Foundation
import HTTPServer
import Ledger

/// A configuration that an operator has pasted to see what it would change. It is read like the
/// file that it would replace, with one difference: an app may name only files, folders and
/// variables that the same app names now. Without this rule, an operator could find out which files
/// exist on this machine, and could see data of apps for which they have no role.
struct ConfigurationProposal {
    private let present: [AppConfiguration]
    private let proposed: [AppConfiguration]

    /// - Parameter path: the file that the proposal would replace.
    /// - Throws: ``ConfigurationFailure`` or ``StartFailure`` if the file or the proposal cannot be
    ///   used.
    init(_ text: String, inPlaceOf path: String) throws {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw StartFailure(
                "The present configuration cannot be read.", remedy: "Look at the server's log.")
        }
        let old = String(decoding: bytes, as: UTF8.self)
        let folder = ConfigurationFolder(of: URL(fileURLWithPath: path))
        let environment = ProcessInfo.processInfo.environment
        let names = Names()
        present = try ConfigurationFile(
            old,
            sources: ConfigurationSources(
                variable: {
                    names.variables.insert(Name(app: $0, text: $1))
                    return environment[$1]
                },
                folder: {
                    names.folders.insert(Name(app: $0, text: $1))
                    return folder.folder($1)
                },
                file: {
                    names.files.insert(Name(app: $0, text: $1))
                    return folder.contents($1)
                })
        ).apps
        proposed = try Self.apps(
            text,
            ConfigurationSources(
                variable: {
                    names.variables.contains(Name(app: $0, text: $1)) ? environment[$1] : nil
                },
                folder: {
                    names.folders.contains(Name(app: $0, text: $1)) ? folder.folder($1) : nil
                },
                file: {
                    names.files.contains(Name(app: $0, text: $1)) ? folder.contents($1) : nil
                }))
    }

    /// - Parameter apps: the apps in force, if there is no file.
    init(_ text: String, inPlaceOf apps: [AppConfiguration]) throws {
        present = apps
        proposed = try Self.apps(
            text,
            ConfigurationSources(
                variable: { _, _ in nil }, folder: { _, _ in nil }, file: { _, _ in nil }))
    }

    private static func apps(
        _ text: String, _ sources: ConfigurationSources
    ) throws -> [AppConfiguration] {
        let read = try ConfigurationFile(text, sources: sources)
        _ = try ProcessSettings(flags: [:], environment: [:], file: read.settings)
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
                    // The first line names the app, or states that there is no app.
                    let lines = ConfigChange.differences(only(app, present), only(app, proposed))
                    return (app, lines.dropFirst().map { String($0.trimmingPrefix("  ")) })
                }))
    }

    /// Returns the function that a server uses to read pasted configurations.
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

    /// Removes quotations from a message, because a quotation may be a secret in the wrong place.
    private static func withoutValues(_ message: String) -> String {
        message.replacing(/“[^”]*”/, with: "“…”")
    }
}

/// A file, folder or variable that an app names.
private struct Name: Hashable {
    var app: AppID?
    var text: String
}

/// The names in a configuration, collected while it is read.
private final class Names {
    var variables: Set<Name> = []
    var files: Set<Name> = []
    var folders: Set<Name> = []
}
