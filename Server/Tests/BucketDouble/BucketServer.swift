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

    /// Starts a server. Returns nil if it is not installed, and says so.
    package static func start() throws -> BucketServer? {
        let root = tests.deletingLastPathComponent().deletingLastPathComponent()
        let python = root.appending(path: ".perennial/buckets/bin/python")
        guard FileManager.default.isExecutableFile(atPath: python.path) else {
            print("skipped: no S3 server (bin/test installs it)")
            return nil
        }
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
