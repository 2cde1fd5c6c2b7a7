import Eventually
import Foundation
import Testing

@testable import Program

@Suite struct TourTests {
    static let curl = "/usr/bin/curl"

    private static var readme: String {
        get throws {
            let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../../../README.md")
            return try String(contentsOf: file, encoding: .utf8)
        }
    }

    @Test func `the README shows the same tour as the program prints`() throws {
        let lines = try Self.readme.split(separator: "\n").map(String.init)
        #expect(lines.filter { $0.contains("curl -s") } == Tour.commands())
    }

    @Test
    func `if a world is continued, the tour says that earlier purchases do not renew`() {
        for isContinued in [true, false] {
            let text = Tour.text(
                serverPort: 8080, simulatorPort: 8090, appKey: "pk", secretKey: "sk",
                isExample: true, isContinued: isContinued)
            #expect(text.hasPrefix("phone      http://localhost:8080/phone\n"))
            #expect(text.contains("--fresh") == isContinued)
            #expect(text.contains("earlier purchases do not renew") == isContinued)
        }
    }

    // The test is skipped without curl, because the commands are run as a reader would paste them.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: curl)))
    func `the commands of the tour do what the tour says`() async throws {
        try await TemporaryFolder.with { folder in
            let shop = DevShop(folder: folder)
            let settings = try shop.settings(
                try DevShop.birds, try shop.nextWorld(), logger: .quiet)
            let answers = try await LocalStack.run(settings) { store in
                let commands = Tour.commands(
                    serverPort: store.serverPort, simulatorPort: store.simulatorPort)
                return try await Shell.output(of: commands.joined(separator: "\nprintf '\u{1E}'\n"))
            }
            let parts = try #require(answers).components(separatedBy: "\u{1E}")
            try #require(parts.count == 6, "\(parts)")
            #expect(parts[0].contains("anna-1"))
            #expect(parts[2].contains(#""state":"paid""#))
            let renewed = parts[4]
            #expect(renewed.contains(#""active": true"#) && renewed.contains(#""state": "paid""#))
            let refunded = parts[5]
            #expect(refunded.contains(#""active": false"#))
            #expect(refunded.contains(#""state": "refunded""#))
        }
    }
}

@Suite struct LocalStoreTests {
    @Test func `if a port is in use, the start fails and names the flag for another port`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            let shop = DevShop(folder: folder)
            let settings = try shop.settings(
                try DevShop.birds, try shop.nextWorld(), logger: .quiet)
            let failures = try await LocalStack.run(settings) { first in
                var second = settings
                second.databaseAddress = folder + "/second.sqlite"
                second.simulatorPort = first.simulatorPort
                let simulator = await Self.failure { _ = try await LocalStack.run(second) { _ in } }
                (second.simulatorPort, second.port) = (0, first.serverPort)
                let server = await Self.failure { _ = try await LocalStack.run(second) { _ in } }
                return [simulator, server]
            }
            let remedies = try #require(failures).compactMap { ($0 as? StartFailure)?.remedy }
            try #require(remedies.count == 2, "\(String(describing: failures))")
            #expect(remedies[0].contains("--simulator-port"))
            #expect(remedies[1].contains("--port"))
        }
    }

    private static func failure(_ body: () async throws -> Void) async -> (any Error)? {
        do { try await body() } catch { return error }
        return nil
    }
}

enum Shell {
    /// Returns the standard output of a script. Waits on another thread, because the servers under
    /// test need the threads of Swift's concurrency.
    static func output(of script: String) async throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", script]
        return String(decoding: try await process.output().bytes, as: UTF8.self)
    }
}
