import Engine
import Foundation
import Ledger
import Storage
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

    private static func assembly(_ address: String) async throws -> Assembly {
        let app = AppConfiguration(
            settings: AppSettings(id: "birds", bundleID: "com.example.birds", entitlements: [:]),
            extraRoots: [])
        return try await Assembly(
            apps: [app], databaseAddress: address, now: { .machine }, logger: .quiet)
    }

    /// A line of a list of erasures.
    private static func line(_ name: String) -> String {
        ErasureText.text(of: [.abandoned(name: name, app: "birds")])
            .trimmingCharacters(in: .newlines)
    }

    private static func source(in folder: String) async throws -> DataPackage.Source {
        let source = DataPackage.Source(
            database: folder + "/perennial.sqlite", configuration: folder + "/birds.yaml",
            erasures: ErasureFile(path: folder + "/perennial.sqlite.erasures"))
        let text = "apps: {birds: {bundle_id: com.example.birds, app_apple_id: 1}}\n"
        try Data(text.utf8).write(to: URL(filePath: source.configuration))
        try source.erasures?.add([line("a")])
        let assembly = try await assembly(source.database)
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
            _ = try package.checkedDigests()
            let checked = try await Shell.output(
                of: "cd '\(package.folder)'; sha256sum --check --strict SHA256SUMS 2>&1")
            #expect(checked.split(separator: "\n").count { $0.hasSuffix(": OK") } == 4)
        }
    }

    @Test func `a package and its list of erasures are read, and the package stays unchanged`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let package = try await Self.package(in: folder)
            let target = folder + "/second.sqlite"
            // An existing list keeps its lines.
            try ErasureFile(path: target + ".erasures").add([Self.line("b")])
            let count = try await package.copy(to: target, at: .machine)
            #expect(count > 0)
            _ = try package.checkedDigests()
            let list = try ErasureFile.contents(of: target + ".erasures").lines
            #expect(list == [Self.line("b"), Self.line("a")])
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
            _ = try package.checkedDigests()
        }
    }

    @Test func `checksums that name files outside a package are refused`() async throws {
        try await TemporaryFolder.with { folder in
            let package = try await Self.package(in: folder)
            let sums = URL(filePath: "\(package.folder)/SHA256SUMS")
            let other = try FileDigest.sha256(of: folder + "/birds.yaml") + "  ../birds.yaml\n"
            let text = try String(contentsOf: sums, encoding: .utf8)
            try Data((text + other).utf8).write(to: sums)
            #expect(throws: StartFailure.self) { _ = try package.checkedDigests() }
        }
    }

    @Test func `a package is not written into a folder with files, and a failure leaves no file`()
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
                .filter { $0.hasPrefix("    perennial ") && !$0.contains("second.yaml") }
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

    @Test func `a database copied from a package has a new epoch and paused webhooks`() async throws
    {
        try await TemporaryFolder.with { folder in
            let source = try await Self.source(in: folder)
            let assembly = try await Self.assembly(source.database)
            _ = try await assembly.engine.webhooks.add(
                WebhookSettings(url: "https://example.com/hooks"), secret: nil, isPaused: false,
                of: "birds")
            let epoch = try await Self.epoch(of: assembly)
            assembly.database.close()
            let package = DataPackage(folder: folder + "/package")
            _ = try await package.write(source)
            _ = try await package.copy(to: folder + "/second.sqlite", at: .machine)
            let second = try await Self.assembly(folder + "/second.sqlite")
            defer { second.database.close() }
            let webhooks = try await second.engine.webhooks.all(of: "birds")
            #expect(webhooks.map(\.isPaused) == [true])
            #expect(try await Self.epoch(of: second) != epoch)
        }
    }

    private static func epoch(of assembly: Assembly) async throws -> String? {
        try await Database(assembly.database).readingLog { tx in
            try tx.events.nextPosition(of: "birds").epoch
        }
    }

    @Test func `a database is not copied into the package itself`() async throws {
        try await TemporaryFolder.with { folder in
            let package = try await Self.package(in: folder)
            for name in ["perennial.sqlite", "second.sqlite"] {
                await #expect(throws: StartFailure.self) {
                    try await package.copy(to: "\(package.folder)/\(name)", at: .machine)
                }
            }
            _ = try package.checkedDigests()
        }
    }

    @Test func `if a package's file is named instead of its folder, the remedy names the folder`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let package = try await Self.package(in: folder)
            let failure = #expect(throws: StartFailure.self) {
                try DataPackage.requireFolder(package.database)
            }
            #expect(failure?.remedy.hasSuffix("--from \(package.folder)") == true)
            try DataPackage.requireFolder(package.folder)
            try DataPackage.requireFolder(folder + "/perennial.sqlite")
        }
    }

    @Test func `a package whose files are links or read-only is copied`() async throws {
        try await TemporaryFolder.with { folder in
            let package = try await Self.package(in: folder)
            let files = FileManager.default
            try files.moveItem(atPath: package.database, toPath: folder + "/real.sqlite")
            try files.createSymbolicLink(
                atPath: package.database, withDestinationPath: "../real.sqlite")
            try files.setAttributes(
                [.posixPermissions: 0o400], ofItemAtPath: folder + "/real.sqlite")
            _ = try await package.copy(to: folder + "/second.sqlite", at: .machine)
            let second = try await Self.assembly(folder + "/second.sqlite")
            defer { second.database.close() }
            #expect(try await second.engine.keys.hasKeys("birds"))
            _ = try package.checkedDigests()
        }
    }

    @Test func `a list of erasures that cannot be read, or is not in the checksums, is refused`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            var source = try await Self.source(in: folder)
            source.erasures = ErasureFile(path: folder + "/missing/list")
            let package = DataPackage(folder: folder + "/package")
            await #expect(throws: StartFailure.self) { try await package.write(source) }
            #expect(!FileManager.default.fileExists(atPath: package.folder))
            source.erasures = nil
            #expect(try await package.write(source).erasureLines == nil)
            try ErasureFile(path: package.erasures).add([Self.line("a")])
            #expect(throws: StartFailure.self) { _ = try package.checkedDigests() }
        }
    }
}
