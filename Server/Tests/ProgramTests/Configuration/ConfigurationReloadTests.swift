import AsyncHTTPClient
import Engine
import Foundation
import Ledger
import Logging
import Synchronization
import Testing

@testable import HTTPServer
@testable import Program

/// Changes of the configuration while the server runs.
@Suite struct ConfigurationReloadTests {
    private static let first = """
        apps:
          birds:
            bundle_id: com.example.birds
            app_apple_id: 1
            products: {monthly: [pro]}
            forward: [https://old.example.com/apple/secret]
            content:
              folder: issues
              items:
                one: {published: 2026-01-15, entitlement: pro, file: one.txt}

        """
    private static let second =
        first + "        two: {published: 2026-02-15, entitlement: pro, file: two.txt}\n"

    /// A server that was started with ``first``, and its log.
    private struct Desk {
        let folder: String
        let live: LiveServer
        let reload: ConfigurationReload
        let log: LineCollector

        var items: [PublicationID] {
            get throws {
                try live.current.engine.context.settings(of: "birds").content.items.map(
                    \.publication.id)
            }
        }

        func write(_ text: String) throws {
            try Data(text.utf8).write(to: URL(filePath: folder + "/perennial.yaml"))
        }
    }

    private func withDesk(
        _ text: String = first, _ body: @Sendable (Desk) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/perennial.yaml"
            try Data(text.utf8).write(to: URL(filePath: path))
            try Data("a secret".utf8).write(to: URL(filePath: folder + "/secret"))
            try FileManager.default.createDirectory(
                atPath: folder + "/issues", withIntermediateDirectories: true)
            let read: @Sendable () throws -> (ConfigurationFile, ProcessSettings) = {
                let file = try ConfigurationFile(path: path)
                return (
                    file, try ProcessSettings(flags: [:], environment: [:], file: file.settings)
                )
            }
            let (file, settings) = try read()
            let log = LineCollector()
            let logger = Logger(label: "test") { _ in log.handler }
            try await HTTPClient.withHTTPClient { http in
                let assembly = try await Assembly(
                    apps: file.apps, databaseAddress: folder + "/p.sqlite", now: { .machine },
                    logger: logger)
                defer { assembly.database.close() }
                _ = try await assembly.engine.keys.create(app: "birds", kind: .app, name: "")
                let live = LiveServer(PerennialServer(engine: assembly.engine, logger: logger))
                try await body(
                    Desk(
                        folder: folder, live: live,
                        reload: ConfigurationReload(
                            of: live, apps: file.apps, settings: settings,
                            dashboard: file.dashboard,
                            stores: AppStores(file.apps, http: http, now: { .machine }),
                            logger: logger, read: read), log: log))
            }
        }
    }

    @Test func `after a reload, the server knows every key before its first request`() async throws
    {
        try await withDesk { desk in
            let keys = desk.live.current.engine.keys
            let secret = try await keys.create(app: "birds", kind: .secret, name: "")
            #expect(desk.live.current.keys.knownKind(of: secret) == nil)
            #expect(await desk.reload.reload())
            #expect(desk.live.current.keys.knownKind(of: secret) == .secret)
        }
    }

    @Test func `after a reload of the configuration, the server offers the added content`()
        async throws
    {
        try await withDesk { desk in
            let former = desk.live.current.engine
            #expect(try desk.items == ["one"])
            try desk.write(Self.second)
            #expect(await desk.reload.reload())
            #expect(try desk.items == ["one", "two"])
            // A request keeps the configuration with which it began.
            #expect(try former.context.settings(of: "birds").content.items.count == 1)
            #expect(desk.log.text.contains("in force"))
            #expect(await desk.reload.reload(), "idempotent")
        }
    }

    @Test(arguments: [
        ("apps: {", "not YAML"), (first + "        tw: {titel: Two}\n", "titel"),
        (first.replacing("folder: issues", with: "folder: nowhere"), "nowhere"),
        (first + "  toads:\n    bundle_id: com.example.toads\n", "toads has no key"),
        (first.replacing("app_apple_id: 1", with: "simulated: true"), "simulated apps"),
        (first + "settings: {port: abc}\n", "is not a port"),
    ])
    func `a configuration file with a problem changes nothing, and the log names the problem`(
        text: String, problem: String
    ) async throws {
        try await withDesk { desk in
            try desk.write(text)
            #expect(await !desk.reload.reload())
            #expect(try desk.items == ["one"])
            #expect(desk.log.text.contains(problem), "\(desk.log.text)")
            #expect(desk.log.text.contains("the former one stays in force"))
            try desk.write(Self.second)
            #expect(await desk.reload.reload())
        }
    }

    @Test func `after a reload, settings that need a restart are logged, and other settings apply`()
        async throws
    {
        try await withDesk { desk in
            try desk.write(
                Self.second + "settings: {port: 9000, listen_metrics: \"127.0.0.1:9090\"}\n")
            #expect(await desk.reload.reload())
            #expect(try desk.items == ["one", "two"])
            #expect(desk.log.text.contains("settings=port, listen_metrics"), "\(desk.log.text)")
        }
    }

    @Test func `a changed sign-in setting takes effect only after a restart, and the log says so`()
        async throws
    {
        let signIn = """
            dashboard:
              url: https://store.example.com
              sign_in:
                openid:
                  issuer: https://login.example.com
                  client_id: perennial
                  client_secret_file: secret
                  roles: {admins: admin}

            """
        try await withDesk(Self.first + signIn) { desk in
            func warnings() -> Int { desk.log.text.matches(of: #/settings=dashboard/#).count }
            #expect(await desk.reload.reload())
            #expect(warnings() == 0, "nothing changed")
            try desk.write(Self.first + signIn.replacing("admins: admin", with: "admins: viewer"))
            #expect(await desk.reload.reload())
            #expect(warnings() == 1, "another role")
            try desk.write(Self.first + signIn)
            try Data("4a91c0".utf8).write(to: URL(filePath: desk.folder + "/secret"))
            #expect(await desk.reload.reload())
            #expect(warnings() == 2, "another secret")
            #expect(desk.log.text.contains("only when the server is restarted"))
            #expect(!desk.log.text.contains("4a91c0"), "no secret in the log")
            try desk.write(Self.first + signIn.replacing("admins: admin", with: "admins: owner"))
            #expect(await !desk.reload.reload())
            #expect(desk.log.text.contains("“owner” is not a role"), "\(desk.log.text)")
        }
    }

    @Test func `after a change of the forwarding address, notifications go to the new address`()
        async throws
    {
        try await withDesk { desk in
            try desk.write(
                Self.first.replacing("old.example.com", with: "new.example.com"))
            #expect(await desk.reload.reload())
            let queues = desk.live.current.engine.forwarding.queues
            #expect(queues.map(\.target.url) == ["https://new.example.com/apple/secret"])
            var replacements = desk.live.replacements.makeAsyncIterator()
            #expect(await replacements.next() != nil)
        }
    }
}

/// Collects the lines of a log.
final class LineCollector: Sendable {
    private let lines = Mutex<[String]>([])

    var text: String { lines.withLock { $0.joined(separator: "\n") } }
    var handler: Handler { Handler(collector: self) }

    struct Handler: LogHandler {
        let collector: LineCollector
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let facts = (event.metadata ?? [:]).map { "\($0)=\($1)" }.sorted()
            collector.lines.withLock {
                $0.append((["\(event.message)"] + facts).joined(separator: " "))
            }
        }
    }
}
