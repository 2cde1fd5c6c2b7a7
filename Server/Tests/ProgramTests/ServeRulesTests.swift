import Engine
import Foundation
import Ledger
import Logging
import Testing

@testable import Program

@Suite struct ServeRulesTests {
    private func app(_ name: String, isSimulated: Bool) -> AppConfiguration {
        AppConfiguration(
            settings: AppSettings(
                id: AppID(rawValue: name), bundleID: "com.example.\(name)",
                isSimulated: isSimulated, entitlements: [:]),
            extraRoots: [])
    }

    @Test func `a simulated app is served only with its simulator's clock`() throws {
        let birds = app("birds", isSimulated: true)
        #expect(throws: StartFailure.self) { try ServeRules.check([birds], clockFrom: nil) }
        try ServeRules.check([birds], clockFrom: "http://localhost:8090")
    }

    @Test func `a real app never follows a simulator's clock`() throws {
        let apps = [app("birds", isSimulated: true), app("rage", isSimulated: false)]
        let failure = try #require(throws: StartFailure.self) {
            try ServeRules.check(apps, clockFrom: "http://localhost:8090")
        }
        #expect(failure.message.hasPrefix("rage:"))
        try ServeRules.check([app("rage", isSimulated: false)], clockFrom: nil)
    }

    @Test func `without an API key in the database, the server does not start`() async throws {
        try await TemporaryFolder.with { folder in
            let assembly = try await Assembly(
                apps: [app("rage", isSimulated: false)], databaseAddress: folder + "/deep/p.sqlite",
                now: { .machine }, logger: .quiet)
            await #expect(throws: StartFailure.self) {
                try await ServeRules.checkKeys(of: assembly)
            }
            _ = try await assembly.engine.keys.create(app: "rage", kind: .app, name: "")
            try await ServeRules.checkKeys(of: assembly)
            assembly.database.close()
        }
    }

    @Test func `a database that contains development keys is not served`() async throws {
        try await TemporaryFolder.with { folder in
            let assembly = try await Assembly(
                apps: [app("rage", isSimulated: false)], databaseAddress: folder + "/p.sqlite",
                now: { .machine }, logger: .quiet)
            defer { assembly.database.close() }
            _ = try await assembly.engine.keys.create(app: "rage", kind: .app, name: "")
            for (key, kind) in DevelopmentKeys.keys(of: "rage") + DevelopmentKeys.keys(of: "birds")
            {
                try await assembly.engine.keys.add(key: key, app: "rage", kind: kind, name: "")
                let failure = try await #require(throws: StartFailure.self) {
                    try await ServeRules.checkKeys(of: assembly)
                }
                #expect(failure.message.contains(key))
                // The command that the remedy names is enough to start the server.
                let digits = try #require(failure.remedy.firstMatch(of: /rage (\w{8})`/)).output.1
                let stored = try KeysRevokeCommand.key(
                    beginning: String(digits), among: await assembly.engine.keys.all(of: "rage"),
                    of: "rage")
                try await assembly.engine.keys.revoke(stored)
                try await ServeRules.checkKeys(of: assembly)
            }
        }
    }

    @Test func `a wrong or missing app name is refused, and a similar name is suggested`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let assembly = try await Assembly(
                apps: [app("birds", isSimulated: false), app("rage", isSimulated: false)],
                databaseAddress: folder + "/p.sqlite", now: { .machine }, logger: .quiet)
            #expect(try assembly.app(named: "rage") == "rage")
            let near = try #require(throws: StartFailure.self) { try assembly.app(named: "bird") }
            #expect(near.remedy == "Did you mean birds?")
            #expect(throws: StartFailure.self) { try assembly.app(named: nil) }
            assembly.database.close()
        }
    }

    @Test func `if the database's path is a folder, the message says so`() async throws {
        try await TemporaryFolder.with { folder in
            let failure = try #require(throws: StartFailure.self) {
                try DatabaseAddress.open(folder)
            }
            #expect(failure.remedy.contains("--database"))
        }
    }
}

/// Runs the body with a new folder, and then deletes the folder.
enum TemporaryFolder {
    static func with<Value>(_ body: (String) async throws -> Value) async throws -> Value {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("perennial-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url) }
        return try await body(url.path)
    }
}

extension Logger {
    static var quiet: Logger {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return logger
    }
}
