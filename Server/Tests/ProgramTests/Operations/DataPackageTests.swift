import Engine
import Foundation
import Ledger
import Testing

@testable import Program

@Suite struct DataPackageTests {
    /// A package of a database with one key.
    private static func package(in folder: String) async throws -> DataPackage {
        let source = try await source(in: folder)
        let package = DataPackage(folder: folder + "/package")
        _ = try await package.write(source)
        return package
    }

    private static func source(in folder: String) async throws -> DataPackage.Source {
        let source = DataPackage.Source(
            database: folder + "/perennial.sqlite", configuration: folder + "/birds.yaml",
            erasures: folder + "/perennial.sqlite.erasures")
        let text = "apps: {birds: {bundle_id: com.example.birds, app_apple_id: 1}}\n"
        try Data(text.utf8).write(to: URL(filePath: source.configuration))
        try Data("a list\n".utf8).write(to: URL(filePath: source.erasures ?? ""))
        let app = AppConfiguration(
            settings: AppSettings(id: "birds", bundleID: "com.example.birds", entitlements: [:]),
            extraRoots: [])
        let assembly = try await Assembly(
            apps: [app], databaseAddress: source.database, now: { .machine }, logger: .quiet)
        _ = try await assembly.engine.keys.create(app: "birds", kind: .secret, name: "")
        assembly.database.close()
        return source
    }

    @Test func `a package has exactly its five files, which only their owner can read`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let package = try await Self.package(in: folder)
            let names = try FileManager.default.contentsOfDirectory(atPath: package.folder)
            #expect(
                names.sorted() == [
                    "README.txt", "SHA256SUMS", "perennial.sqlite", "perennial.sqlite.erasures",
                    "perennial.yaml",
                ])
            for name in names {
                let file = try FileManager.default.attributesOfItem(
                    atPath: "\(package.folder)/\(name)")
                #expect(file[.posixPermissions] as? Int == 0o600, "\(name)")
            }
            try package.requireUnchanged()
            let checked = try await Shell.output(
                of: "cd '\(package.folder)'; sha256sum --check --strict SHA256SUMS 2>&1")
            #expect(checked.split(separator: "\n").count { $0.hasSuffix(": OK") } == 4)
        }
    }

    @Test func `a package is read without a change to it, together with its list of erasures`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let package = try await Self.package(in: folder)
            let target = folder + "/second.sqlite"
            let count = try await package.copy(to: target, at: .machine)
            #expect(count > 0)
            try package.requireUnchanged()
            let list = try String(contentsOfFile: target + ".erasures", encoding: .utf8)
            #expect(list == "a list\n")
        }
    }

    @Test(arguments: ["perennial.sqlite", "perennial.yaml", "README.txt", "SHA256SUMS"])
    func `a package with a changed or missing file is refused`(name: String) async throws {
        try await TemporaryFolder.with { folder in
            let package = try await Self.package(in: folder)
            let url = URL(filePath: "\(package.folder)/\(name)")
            let bytes = try Data(contentsOf: url)
            var changed = bytes
            changed[changed.startIndex + 1] ^= 1
            try changed.write(to: url)
            await #expect(throws: StartFailure.self) {
                try await package.copy(to: folder + "/second.sqlite", at: .machine)
            }
            try FileManager.default.removeItem(at: url)
            await #expect(throws: StartFailure.self) {
                try await package.copy(to: folder + "/second.sqlite", at: .machine)
            }
            #expect(!FileManager.default.fileExists(atPath: folder + "/second.sqlite"))
            try bytes.write(to: url)
            try package.requireUnchanged()
        }
    }

    @Test func `checksums of other files than those of a package are refused`() async throws {
        try await TemporaryFolder.with { folder in
            let package = try await Self.package(in: folder)
            let sums = URL(filePath: "\(package.folder)/SHA256SUMS")
            let other = try FileDigest.sha256(of: folder + "/birds.yaml") + "  ../birds.yaml\n"
            let text = try String(contentsOf: sums, encoding: .utf8)
            try Data((text + other).utf8).write(to: sums)
            #expect(throws: StartFailure.self) { try package.requireUnchanged() }
        }
    }

    @Test func `no package is written into a folder that has files, and a failure leaves none`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            var source = try await Self.source(in: folder)
            await #expect(throws: StartFailure.self) {
                try await DataPackage(folder: folder).write(source)
            }
            for file in ["/birds.yaml", "/perennial.sqlite"] {
                #expect(FileManager.default.fileExists(atPath: folder + file))
            }
            source.configuration = folder + "/missing.yaml"
            let package = DataPackage(folder: folder + "/package")
            await #expect(throws: StartFailure.self) { try await package.write(source) }
            #expect(!FileManager.default.fileExists(atPath: package.folder))
        }
    }

    @Test func `the commands in docs/package.md write a package, and read it`() async throws {
        try await TemporaryFolder.with { folder in
            _ = try await Self.source(in: folder)
            let page = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../../docs/package.md")
            let commands = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
                .filter { $0.hasPrefix("    perennial ") && !$0.contains(" serve ") }
            #expect(commands.count == 2)
            let program = try BuiltProgram.path()
            for command in commands {
                let words = command.dropFirst("    perennial ".count)
                let output = try await Shell.output(
                    of: """
                        cd '\(folder)'; export PERENNIAL_CONFIG=birds.yaml
                        export PERENNIAL_DATABASE=perennial.sqlite
                        '\(program)' \(words) 2>&1 || echo "exit code $?"
                        """)
                #expect(!output.contains("exit code"), "\(command)\n\(output)")
            }
            #expect(FileManager.default.fileExists(atPath: folder + "/second.sqlite"))
        }
    }
}
