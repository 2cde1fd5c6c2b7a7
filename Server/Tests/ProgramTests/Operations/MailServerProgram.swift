import Eventually
import Foundation
import Testing

/// The mail server of `Server/Tests/MailServer`, which is by others, and the receiver of webhooks
/// beside it.
struct MailServerProgram {
    private static let folder = URL(fileURLWithPath: #filePath)
        .appendingPathComponent("../../../../..").standardized
    /// The Python with the mail server; nil if it is not installed.
    static let python = {
        let path = folder.appendingPathComponent(".perennial/mail/bin/python").path
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }()
    /// The reason that a skipped test prints.
    static let absence: Comment = "skipped: no mail server; bin/test installs it"

    /// A mail as Python reads it.
    struct Mail: Decodable {
        var sender: String
        var recipients: [String]
        var isEncrypted: Bool
        var isSignedIn: Bool
        var headers: [String: String]
        var body: String
        var isASCII: Bool
        var longestLine: Int
    }

    /// A request to the receiver of webhooks.
    struct Post: Decodable {
        var headers: [String: String]
        var body: String
    }

    let port: Int
    private let place: String

    func mails() throws -> [Mail] { try arrivals() }
    func posts() throws -> [Post] { try arrivals() }

    private func arrivals<Arrival: Decodable>() throws -> [Arrival] {
        var arrivals: [Arrival] = []
        while let data = FileManager.default.contents(
            atPath: "\(place)/\(arrivals.count + 1).json")
        {
            arrivals.append(try JSONDecoder().decode(Arrival.self, from: data))
        }
        return arrivals
    }

    /// Runs the mail server while the body runs.
    ///
    /// - Parameter options: see the script.
    static func run(
        _ options: [String] = [], in folder: String,
        _ body: (MailServerProgram) async throws -> Void
    ) async throws {
        try await run("server.py", options, in: folder, body)
    }

    /// Runs the receiver of webhooks while the body runs.
    static func receive(
        in folder: String, _ body: (MailServerProgram) async throws -> Void
    ) async throws {
        try await run("receiver.py", [], in: folder, body)
    }

    private static func run(
        _ script: String, _ options: [String], in place: String,
        _ body: (MailServerProgram) async throws -> Void
    ) async throws {
        let place = place + "/arrivals-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(python))
        let path = folder.appendingPathComponent("Server/Tests/MailServer/\(script)").path
        process.arguments = [path, place] + options
        process.standardError = FileHandle.nullDevice
        try process.run()
        // A started program can inherit that SIGTERM is blocked.
        defer { kill(process.processIdentifier, SIGKILL) }
        try await eventually("\(script) listens") {
            FileManager.default.fileExists(atPath: place + "/port") || !process.isRunning
        }
        let text = try String(contentsOfFile: place + "/port", encoding: .utf8)
        try await body(MailServerProgram(port: try #require(Int(text)), place: place))
    }
}
