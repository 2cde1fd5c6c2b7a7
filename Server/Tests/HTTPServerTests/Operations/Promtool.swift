import Eventually
import Foundation
import Testing

/// Prometheus's own tool, which checks rules and metrics. Debian's package `prometheus` contains
/// the tool.
enum Promtool {
    /// The reason that a skipped test prints.
    static let absence: Comment = "promtool is not installed"

    static let path: String? = {
        let folders =
            (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .map(String.init) + ["/usr/local/bin", "/usr/bin"]
        return folders.map { "\($0)/promtool" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    /// The rules' tests cover days, minute by minute.
    private static let secondsMax = 600.0

    /// Runs the tool in deploy/prometheus. Returns its exit status, and everything that it wrote.
    ///
    /// - Parameter input: the file that the tool reads from standard input.
    static func run(
        _ arguments: [String], input: URL? = nil
    ) async throws -> (status: Int32, text: String) {
        let process = Process()
        process.executableURL = URL(filePath: try #require(path))
        process.arguments = arguments
        process.currentDirectoryURL = Deployed.folder.appending(path: "prometheus")
        process.standardInput =
            try input.map { try FileHandle(forReadingFrom: $0) } ?? FileHandle.nullDevice
        let (status, bytes) = try await process.output(
            withErrors: true, within: secondsMax)
        return (status, String(decoding: bytes, as: UTF8.self))
    }

    /// Checks metrics in Prometheus's text format, as `promtool check metrics` does.
    static func check(metrics: String) async throws -> (status: Int32, text: String) {
        let file = FileManager.default.temporaryDirectory
            .appending(path: "perennial-metrics-\(UUID().uuidString)")
        try Data(metrics.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await run(["check", "metrics"], input: file)
    }
}
