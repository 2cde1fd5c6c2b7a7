import Foundation
import FoundationNetworking
import Synchronization
import Testing

/// `perennial dev` with the shop of In-App Rage, on free ports, in a separate folder.
struct RageProgram: Sendable {
    /// The largest number of lines that the program prints before it is ready.
    static let linesMax = 50
    static let key = "pk_dev_rage"

    let server: URL
    let simulator: URL
    let folder: URL
    private let input: FileHandle

    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The path of the program: `PERENNIAL_PROGRAM`, or the debug build of this repository. Nil if
    /// there is no program.
    static let path: String? = {
        let built = package.appendingPathComponent("Server/.build/debug/perennial").path
        let named = ProcessInfo.processInfo.environment["PERENNIAL_PROGRAM"]
        return [named, built].compactMap { $0 }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    static var isThere: Bool { path != nil }

    /// Starts the program. A shell ends the program when this process ends, even after a crash.
    init() throws {
        let program = try #require(Self.path, "skipped: no program")
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("rage-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let script = """
            "$0" dev --port 0 --simulator-port 0 --config "$1" --data "$2" </dev/null &
            child=$!; exec >&-; read -r line; kill $child
            """
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = [
            "-c", script, program,
            Self.package.appendingPathComponent("Examples/Rage/perennial.yaml").path,
            folder.appendingPathComponent("data").path,
        ]
        let (stdin, output) = (Pipe(), Pipe())
        shell.standardInput = stdin
        shell.standardOutput = output
        try shell.run()
        input = stdin.fileHandleForWriting
        let lines = try Self.lines(of: output.fileHandleForReading)
        server = try Self.address("server", in: lines)
        simulator = try Self.address("simulator", in: lines)
    }

    /// Ends the program, and deletes its folder.
    func stop() {
        try? input.close()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Reads the output up to the line with the keys, which follows the lines with the addresses.
    private static func lines(of output: FileHandle) throws -> [Substring] {
        var text = ""
        for _ in 0..<linesMax {
            let data = output.availableData
            text += String(decoding: data, as: UTF8.self)
            if data.isEmpty || text.contains("\nkeys ") { break }
        }
        return text.split(separator: "\n")
    }

    private static func address(_ name: String, in lines: [Substring]) throws -> URL {
        let line = try #require(lines.first { $0.hasPrefix("\(name) ") }, "It said: \(lines)")
        let address = try #require(line.split(separator: " ").last)
        let port = try #require(URL(string: String(address))?.port)
        return try #require(URL(string: "http://127.0.0.1:\(port)"))
    }
}

// MARK: - Routes

extension RageProgram {
    struct TermAnswer: Decodable {
        let productId: String
        let daysRemaining: Int?
    }

    private struct CustomerAnswer: Decodable { let nonRenewing: [TermAnswer] }
    private struct DeviceAnswer: Decodable { let deviceId: String }

    /// The days that remain of each term, as the server counts them.
    func terms(of customer: String) async throws -> [TermAnswer] {
        try await answer(
            server.appendingPathComponent("v1/customers/\(customer)"), as: CustomerAnswer.self
        ).nonRenewing
    }

    /// - Parameter account: the Apple account. The customer's id is another name.
    func makeDevice(account: String) async throws -> String {
        try await answer(
            simulator.appendingPathComponent("_sim/devices"), body: #"{"account": "\#(account)"}"#,
            as: DeviceAnswer.self
        ).deviceId
    }

    func advance(_ duration: String) async throws {
        struct Clock: Decodable { let now: String }
        _ = try await answer(
            simulator.appendingPathComponent("_sim/clock"), body: #"{"advance": "\#(duration)"}"#,
            as: Clock.self)
    }

    /// Reads from a route, or posts a body to it.
    private func answer<Answer: Decodable>(
        _ url: URL, body: String? = nil, as type: Answer.Type
    ) async throws -> Answer {
        var request = URLRequest(url: url, timeoutInterval: 30)
        request.httpMethod = body == nil ? "GET" : "POST"
        request.httpBody = body.map { Data($0.utf8) }
        request.setValue("Bearer \(Self.key)", forHTTPHeaderField: "Authorization")
        let (data, _) = try await URLSession.shared.data(for: request)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(type, from: data)
    }
}
