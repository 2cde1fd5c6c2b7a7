import Eventually
import Foundation
import Testing

/// A provider of OpenID Connect by others, which runs in its own process. The programs are in
/// Server/Tests/OpenIDPrograms.
enum OpenIDProgram: String, Sendable, CaseIterable {
    /// Django with django-oauth-toolkit. Signs ID tokens with RS256, and reads the client's secret
    /// in the header. Asks the person for permission.
    case django
    /// Signs ID tokens with ES256, reads the client's secret in the body only, and names itself in
    /// the answer to the browser.
    case idpyoidc

    /// The people and the client in people.py.
    static let password = "correct horse battery"
    static let clientID = "perennial"
    static let clientSecret = "a secret: of birds & bees"

    /// The reason that a skipped test prints.
    static let absence: Comment = "skipped: no providers of OpenID Connect; bin/test installs them"

    private static let root = {
        var root = URL(filePath: #filePath)
        for _ in 1...5 { root.deleteLastPathComponent() }
        return root.path
    }()

    /// The Python with the providers; nil if they are not installed.
    static let python: String? = {
        // The path is not resolved: Python finds its packages beside the symbolic link.
        let path = root + "/.perennial/openid-providers/bin/python"
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }()

    /// A provider that runs.
    struct Running: Sendable {
        let issuer: String
        fileprivate let folder: String
        fileprivate let process: Process

        /// Changes the groups of people. People without an entry have no groups.
        func setGroups(_ groups: [String: [String]]) throws {
            try OpenIDProgram.write(groups, in: folder)
        }

        /// Ends the provider. Its port then refuses connections.
        func stop() async throws {
            kill(process.processIdentifier, SIGKILL)
            try await process.waitForEnd()
        }
    }

    /// Runs the provider while the body runs.
    func run(
        groups: [String: [String]], _ body: (Running) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/perennial-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Self.write(groups, in: folder)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(Self.python))
        process.arguments = [
            "-B", Self.root + "/Server/Tests/OpenIDPrograms/\(rawValue)_provider.py", folder,
        ]
        process.standardOutput = FileHandle.nullDevice
        let errors = folder + "/errors"
        try Data().write(to: URL(fileURLWithPath: errors))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errors))
        try process.run()
        // A started program can inherit that SIGTERM is blocked.
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        let file = folder + "/issuer"
        try await eventually("the provider \(rawValue) listens") {
            FileManager.default.fileExists(atPath: file) || !process.isRunning
        }
        let text = try? String(contentsOfFile: file, encoding: .utf8)
        let issuer = try #require(
            text, "\((try? String(contentsOfFile: errors, encoding: .utf8)) ?? "")")
        try await body(Running(issuer: issuer, folder: folder, process: process))
    }

    private static func write(_ groups: [String: [String]], in folder: String) throws {
        try JSONEncoder().encode(groups)
            .write(to: URL(fileURLWithPath: folder + "/groups.json"), options: .atomic)
    }
}
