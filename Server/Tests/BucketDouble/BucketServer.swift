import BucketClient
import Foundation

/// An S3 server in another process, which verifies signatures: `Server/Tests/Buckets/server.py`.
package struct BucketServer: Sendable {
    /// Scheme, host and port.
    package let endpoint: String
    package let credentials: BucketCredentials
    private let process: Process

    private struct Line: Decodable {
        var endpoint: String
        var id: String
        var secret: String
    }

    private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()

    private static let python = tests.deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: ".perennial/buckets/bin/python")

    /// Whether a server can be started. Says so if it cannot.
    package static let isInstalled: Bool = {
        let isInstalled = FileManager.default.isExecutableFile(atPath: python.path)
        if !isInstalled { print("skipped: no S3 server (bin/test installs it)") }
        return isInstalled
    }()

    package static func start() throws -> BucketServer {
        let process = Process()
        // A process resolves links, and another Python would not find the packages.
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c", "exec \"$0\" \"$1\"", python.path,
            tests.appending(path: "Buckets/server.py").path,
        ]
        // The server ends when this process does.
        let (output, input) = (Pipe(), Pipe())
        (process.standardOutput, process.standardInput) = (output, input)
        try process.run()
        var line = Data()
        while !line.contains(UInt8(ascii: "\n")) {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw CocoaError(.fileReadUnknown) }
            line += more
        }
        let found = try JSONDecoder().decode(Line.self, from: line)
        return BucketServer(
            endpoint: found.endpoint,
            credentials: .init(accessKeyID: found.id, secretAccessKey: found.secret),
            process: process)
    }

    package func stop() { process.terminate() }

    /// How its bucket is reached.
    package func access(_ address: String = "s3://backups/perennial") -> BucketAccess {
        BucketAccess(
            address: BucketAddress(address)!, region: BucketAccess.regionOfOthers,
            endpoint: endpoint, credentials: credentials)
    }
}
