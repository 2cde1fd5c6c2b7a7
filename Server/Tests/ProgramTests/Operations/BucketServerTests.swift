import AsyncHTTPClient
import BucketClient
import BucketDouble
import Foundation
import Ledger
import OutgoingHTTP
import StorageSQLite
import Testing

@testable import Program

/// The client against an implementation of S3 that is not ours.
@Suite(.enabled(if: BucketServer.isInstalled)) struct BucketServerTests {
    private static func client(_ access: BucketAccess, _ http: HTTPClient) -> BucketClient {
        BucketClient(access, now: { .machine }, send: BucketClient.sender(http))
    }

    @Test func `files, lists and deletions work with a server that verifies signatures`()
        async throws
    {
        let server = try BucketServer.start()
        defer { server.stop() }
        try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) { http in
            let client = Self.client(server.access(), http)
            var large = [UInt8](repeating: 1, count: BucketClient.partBytesMin + 5)
            for place in stride(from: 0, to: large.count, by: 65_537) {
                large[place] = UInt8(truncatingIfNeeded: place / 65_537)
            }
            let (sent, size) = (large, Int64(large.count))
            try await client.upload(
                .init(bytes: size) { Array(sent[Int($0)..<Int($0) + $1]) }, as: "perennial-large")
            #expect(try await client.size(of: "perennial-large") == size)
            var found: [UInt8] = []
            try await client.download(.init(name: "perennial-large", bytes: size)) { found += $0 }
            #expect(found == sent)
            // More than a page, with names of which one begins with another one.
            let names = (0..<1_003).map { "folder/\($0)" }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for (index, name) in names.enumerated() {
                    if index >= 16 { try await tasks.next() }
                    tasks.addTask { try await client.write(Array(name.utf8), as: name) }
                }
                try await tasks.waitForAll()
            }
            #expect(try await client.contents(of: "folder").objects.map(\.name) == names.sorted())
            let top = try await client.contents()
            #expect(top.objects.map(\.name) == ["perennial-large"])
            #expect(top.folders == ["folder"])
            #expect(try await client.bytes(of: "folder/7", atMost: 10) == Array("folder/7".utf8))
            try await client.delete(names)
            #expect(try await client.contents(of: "folder").objects.isEmpty)
            #expect(try await client.bytes(of: "folder/7", atMost: 10) == nil)
            #expect(try await client.abortUploads(named: "perennial-") { _ in true } == 0)
        }
    }

    @Test func `wrong credentials, buckets and addresses each have a separate error message`()
        async throws
    {
        let server = try BucketServer.start()
        defer { server.stop() }
        try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) { http in
            func failure(_ access: BucketAccess) async -> BucketFailure? {
                do {
                    _ = try await Self.client(access, http).contents()
                    return nil
                } catch { return error as? BucketFailure }
            }
            var access = server.access()
            #expect(await failure(access) == nil)
            access.credentials.secretAccessKey = "another"
            #expect(await failure(access) == .wrongSecret)
            access.credentials.accessKeyID = "AKIAUNKNOWN"
            #expect(await failure(access) == .unknownKey)
            #expect(await failure(server.access("s3://missing/perennial")) == .noBucket)
        }
    }

    @Test func `with a wrong secret key, the server uploads nothing and says why`() async throws {
        let server = try BucketServer.start()
        defer { server.stop() }
        var access = server.access()
        access.credentials.secretAccessKey = "another"
        let wrong = access
        try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) { http in
            try await TemporaryFolder.with { folder in
                let desk = try await ChangeDesk(in: folder, uploadingTo: Self.client(wrong, http))
                defer { desk.close() }
                #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
                #expect(try await !desk.mirror.uploadChanges())
                let message = try #require(try desk.mirror.problem).message
                #expect(message.contains("The secret access key does not belong"), "\(message)")
            }
        }
    }

    /// A command's output, with the credentials of the server in the environment.
    private static func output(
        of command: String, _ server: BucketServer, in folder: String, secret: String? = nil
    ) async throws -> String {
        try await Shell.output(
            of: """
                set -euo pipefail; cd '\(folder)'; perennial='\(try BuiltProgram.path())'
                export AWS_ACCESS_KEY_ID='\(server.credentials.accessKeyID)'
                export AWS_SECRET_ACCESS_KEY='\(secret ?? server.credentials.secretAccessKey)'
                export AWS_ENDPOINT_URL='\(server.endpoint)'
                "$perennial" \(command) 2>&1 || echo "exit code $?"
                """)
    }

    @Test func `check and restore read a bucket, and another machine restores from it`()
        async throws
    {
        let server = try BucketServer.start()
        defer { server.stop() }
        try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) { http in
            try await TemporaryFolder.with { folder in
                let desk = try await ChangeDesk(
                    in: folder, uploadingTo: Self.client(server.access(), http))
                defer { desk.close() }
                #expect(try await desk.worker.makeIfDue(), "\(desk.log.text)")
                try await desk.change(3)
                let moment = try await desk.ship()
                #expect(try await desk.mirror.compare(), "\(desk.log.text)")
                #expect(try await desk.mirror.uploadChanges(), "\(desk.log.text)")
                try await Self.expectCommands(server, desk, moment)
            }
        }
    }

    /// The commands of the section about buckets in docs/backups.md.
    private static func pageCommands() throws -> [String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/backups.md")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("    perennial") && $0.contains("s3://") }
            .map {
                $0.trimmingCharacters(in: .whitespaces)
                    .replacing("perennial restore", with: "restore")
                    .replacing("s3://example-backups/", with: "s3://backups/")
                    .replacing("/var/lib/perennial/", with: "")
                    .replacing("/etc/perennial/", with: "")
            }
    }

    @Test func `the settings of a bucket in docs/backups.md are valid`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/backups.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        let blocks = page.matches(of: #/```yaml\n(backup:[\s\S]*?)```/#).map(\.output.1)
        let block = try #require(blocks.first { $0.contains("bucket:") })
        let backup = try ConfigurationFile(
            "apps: {birds: {bundle_id: com.example.birds, app_apple_id: 1}}\n\(block)",
            environment: ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"]
        ) { _ in nil }.backup
        #expect(backup?.bucket?.address.description == "s3://example-backups/perennial")
        #expect(backup?.isContinuous == true)
    }

    private static func expectCommands(
        _ server: BucketServer, _ desk: ChangeDesk, _ moment: Instant
    ) async throws {
        try await TemporaryFolder.with { other in
            try Data(
                """
                apps: {birds: {bundle_id: com.example.birds, app_apple_id: 1}}
                backup:
                  folder: backups
                  bucket: {address: s3://backups/perennial, endpoint: "\(server.endpoint)"}
                """.utf8
            ).write(to: URL(filePath: other + "/perennial.yaml"))
            try FileManager.default.createDirectory(
                atPath: other + "/backups", withIntermediateDirectories: false)
            func run(_ command: String, secret: String? = nil) async throws -> String {
                try await Self.output(of: command, server, in: other, secret: secret)
            }
            let checked = try await run("check --database x.sqlite")
            #expect(checked.contains("ok    bucket s3://backups/perennial: 1, the newest from"))
            let refused = try await run("check --database x.sqlite", secret: "another")
            #expect(refused.contains("DO    s3://backups/perennial: The secret access key"))
            for drill in ["", "--at latest", "--at \(moment)"] {
                let output = try await run("restore s3://backups/perennial --drill \(drill)")
                #expect(output.contains("The backup can be restored."), "\(output)")
                #expect(output.contains("s3://backups/perennial/perennial-"), "\(output)")
            }
            let restored = try await run(
                "restore s3://backups/perennial --at latest --database new.sqlite")
            #expect(!restored.contains("exit code"), "\(restored)")
            let rows = try await SQLiteFile(other + "/new.sqlite").read { connection in
                try connection.texts("SELECT group_concat(number || hex(bytes)) FROM filler")
            }
            let expected = try await SQLiteFile(desk.database).read { connection in
                try connection.texts("SELECT group_concat(number || hex(bytes)) FROM filler")
            }
            #expect(rows == expected && rows != [""])
            let commands = try pageCommands()
            #expect(commands.count == 3)
            for command in commands {
                let output = try await run(command)
                #expect(!output.contains("exit code"), "\(command)\n\(output)")
            }
            let name = URL(filePath: try desk.newestBackup).lastPathComponent
            let named = try await run(
                "restore s3://backups/perennial/\(name) --database named.sqlite")
            #expect(!named.contains("exit code"), "\(named)")
            let unknown = try await run("restore s3://backups/other --database x.sqlite")
            #expect(unknown.contains("There is no backup at s3://backups/other."), "\(unknown)")
            let unread = try await run(
                "restore s3://backups/perennial --config none.yaml --database x.sqlite")
            #expect(unread.contains("none.yaml") && unread.contains("exit code"), "\(unread)")
            let left = try FileManager.default.contentsOfDirectory(atPath: other)
            #expect(!left.contains { $0.hasPrefix("perennial-") }, "\(left)")
        }
    }
}
