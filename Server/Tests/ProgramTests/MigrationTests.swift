import Engine
import Foundation
import Ledger
import Storage
import Testing

@testable import Program

@Suite struct MigrationTests {
    private static let app = AppConfiguration(
        settings: AppSettings(id: "rage", bundleID: "com.example.rage", entitlements: [:]),
        extraRoots: [])

    private func assembly(_ address: String) async throws -> Assembly {
        try await Assembly(
            apps: [Self.app], databaseAddress: address, now: { .machine }, logger: .quiet)
    }

    @Test func `a copy of a database gives the same answers as the original`() async throws {
        try await TemporaryFolder.with { folder in
            let first = try await assembly(folder + "/first.sqlite")
            let key = try await first.engine.keys.create(app: "rage", kind: .secret, name: "")
            _ = try await first.engine.customers.alias(
                "device-7", to: "anna", app: "rage", environment: .production)
            first.database.close()
            let count = try await Migration(
                from: folder + "/first.sqlite", to: folder + "/second.sqlite"
            ).run()
            #expect(
                count == 7,
                """
                two keys (of the API and of erasures), a customer, two ids, an event, and the \
                position of the last event
                """)
            let second = try await assembly(folder + "/second.sqlite")
            #expect(try await second.engine.keys.holder(key)?.kind == .secret)
            let anna = try await second.engine.customers.find(
                "anna", app: "rage", environment: .production)
            #expect(anna.aliases == ["device-7"])
            second.database.close()
        }
    }

    @Test func `a database that a server uses is not copied`() async throws {
        try await TemporaryFolder.with { folder in
            let source = folder + "/first.sqlite"
            try await assembly(source).database.close()
            let server = try ServerLock.acquire(for: source)
            let migration = Migration(from: source, to: folder + "/second.sqlite")
            await #expect(throws: StartFailure.self) { try await migration.run() }
            #expect(!FileManager.default.fileExists(atPath: folder + "/second.sqlite"))
            server?.release()
            _ = try await migration.run()
        }
    }

    @Test func `a database that contains rows cannot be the target of a copy`() async throws {
        try await TemporaryFolder.with { folder in
            let first = try await assembly(folder + "/first.sqlite")
            _ = try await first.engine.keys.create(app: "rage", kind: .app, name: "")
            first.database.close()
            let migration = Migration(
                from: folder + "/first.sqlite", to: folder + "/second.sqlite")
            _ = try await migration.run()
            await #expect(throws: StartFailure.self) { try await migration.run() }
        }
    }

    @Test(arguments: ["", "mysql://anna:secret@db/perennial", "no/such/file.sqlite"])
    func `an invalid database address creates no database`(address: String) throws {
        let failure = #expect(throws: StartFailure.self) {
            _ = try DatabaseAddress.open(address, mayCreate: false)
        }
        #expect(failure.map { "\($0)".contains("secret") } == false)
        #expect(!FileManager.default.fileExists(atPath: "no"))
    }

    @Test func `a database file of another program is not changed`() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/birds.sqlite"
            let theirs = try DatabaseAddress.open(path)
            _ = try await theirs.write { try $0.run("CREATE TABLE birds (name TEXT)", []) }
            theirs.close()
            let bytes = try Self.withoutLog(path)
            let failure = await #expect(throws: StartFailure.self) {
                _ = try await assembly(path)
            }
            #expect(failure?.message.contains("belongs to another program") == true)
            let copy = Migration(from: path, to: folder + "/copy.sqlite")
            await #expect(throws: StartFailure.self) { try await copy.run() }
            #expect(FileManager.default.contents(atPath: path) == bytes)
        }
    }

    /// Gives the file a rollback journal instead of a write-ahead log, as the files of most
    /// programs have. Bytes 18 and 19 of the file say which: https://sqlite.org/fileformat.html.
    private static func withoutLog(_ path: String) throws -> Data {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(bytes[18...19] == Data([2, 2]))
        bytes.replaceSubrange(18...19, with: [1, 1])
        try bytes.write(to: URL(fileURLWithPath: path))
        return bytes
    }

    @Test(arguments: [
        "host=db dbname=perennial password=secret", "password = 'my secret' host=/run/postgresql",
    ])
    func `an address of key=value pairs names a database server, and is never shown`(
        address: String
    ) throws {
        #expect(DatabaseAddress.isServer(address))
        #expect(DatabaseAddress.withoutPassword(address) == "host=…")
        try DatabaseAddress.open(address).close()
        #expect(!FileManager.default.fileExists(atPath: address))
    }

    @Test(arguments: ["host=db password=my secret", "secret=1", "host='secret"])
    func `an invalid database address is refused, and the message does not show it`(address: String)
    {
        let failure = #expect(throws: StartFailure.self) {
            _ = try DatabaseAddress.open(address)
        }
        #expect(failure.map { "\($0)".contains("secret") } == false)
        #expect(!FileManager.default.fileExists(atPath: address))
    }

    @Test func `a database path that contains an equals sign is read as a path`() {
        #expect(!DatabaseAddress.isServer("./host=db.sqlite"))
        #expect(!DatabaseAddress.isServer("data/app=birds/p.sqlite"))
    }

    @Test func `rotating the signing key creates no database`() async throws {
        let output = try await BuiltProgram.output(
            of: """
                echo 'apps: {birds: {bundle_id: com.example.birds}}' >perennial.yaml
                "$perennial" keys rotate 2>&1 | grep -a error: || true
                test -e .perennial || echo none
                """)
        #expect(output.hasPrefix("error: There is no database at .perennial/perennial.sqlite."))
        #expect(output.hasSuffix("none\n"))
    }

    @Test(arguments: [
        ("postgres://anna:secret@db/perennial", "postgres://anna:***@db/perennial"),
        ("postgres://anna@db/perennial", "postgres://anna@db/perennial"),
        (".perennial/p.sqlite", ".perennial/p.sqlite"),
        ("postgres://db/p?user=anna&password=secret", "postgres://db/p?user=anna&password=***"),
        ("postgres://db/p?sslpassword=s&user=anna", "postgres://db/p?sslpassword=***&user=anna"),
    ])
    func `a database address is shown without its password`(address: String, shown: String) {
        #expect(DatabaseAddress.withoutPassword(address) == shown)
    }
}
