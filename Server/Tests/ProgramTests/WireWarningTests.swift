import Foundation
import StoragePostgres
import Testing

@testable import Program

@Suite struct WireWarningTests {
    @Test(arguments: [
        ("postgres://db.example.com/p", ["db.example.com"]),
        ("postgres://anna:secret@db.example.com:5433/p?sslmode=prefer", ["db.example.com"]),
        ("postgres://db/p?sslmode=disable", ["db"]), ("postgres://db/p?sslmode=allow", ["db"]),
        ("postgres://a,127.0.0.1,b/p", ["a", "b"]), ("host=a,b sslmode=prefer", ["a", "b"]),
        ("postgresql://localhost/p?hostaddr=192.0.2.7", ["192.0.2.7"]),
        ("postgres://[2001:db8::7]/p", ["2001:db8::7"]),
    ])
    func `hosts that are reached over a network without encryption are listed`(
        address: String, hosts: [String]
    ) {
        #expect(PostgresDriver.unencryptedHosts(of: address, environment: [:]) == hosts)
    }

    @Test(arguments: [
        "postgres://db/p?sslmode=require", "postgres://db/p?sslmode=verify-ca",
        "host=db sslmode=verify-full", "postgres://localhost/p", "postgres://127.0.0.1/p",
        "postgres://[::1]/p", "postgres:///p", "postgres:///p?host=/run/postgresql",
        "postgres://db/p?gssencmode=require", "host='", "p.sqlite",
    ])
    func `encrypted connections and connections within this machine are not listed`(
        address: String
    ) {
        #expect(PostgresDriver.unencryptedHosts(of: address, environment: [:]) == [])
    }

    @Test func `environment variables supply settings that the database address lacks`() {
        let hosts = { (address: String, environment: [String: String]) in
            PostgresDriver.unencryptedHosts(of: address, environment: environment)
        }
        #expect(hosts("postgres://db/p", ["PGSSLMODE": "require"]) == [])
        #expect(hosts("postgres://db/p?sslmode=allow", ["PGSSLMODE": "require"]) == ["db"])
        #expect(hosts("postgres:///p", ["PGHOST": "db"]) == ["db"])
    }

    @Test func `perennial check mentions an unencrypted connection, and continues`() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/perennial.yaml"
            let text = "apps:\n  rage:\n    bundle_id: com.example.rage\n    app_apple_id: 1\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            // An address reserved for documentation. No host answers there, and the connection
            // times out soon.
            let address = "postgres://anna:secret@192.0.2.1/p?connect_timeout=2"
            let report = await CheckReport(
                try ProcessOptions.parse(["--config", path, "--database", address]))
            let note = report.lines.first { $0.contains("without encryption") }
            #expect(note?.hasPrefix("note  the database at 192.0.2.1") == true)
            #expect(!report.lines.joined().contains("secret"))
        }
    }
}
