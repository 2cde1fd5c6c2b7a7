import Foundation

/// The built programs, each in a process of its own, so that its processor time is its own.
struct Programs: Sendable {
    static let startSeconds = 60.0
    private static let pollMicroseconds: UInt32 = 1000

    let bench: BenchFolder
    let folder: URL

    init(_ bench: BenchFolder) throws {
        self.bench = bench
        folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent()
        try Data(bench.authority.rootDER).write(to: URL(fileURLWithPath: bench.path("root.cer")))
        try Data(Self.configuration.utf8)
            .write(to: URL(fileURLWithPath: bench.path("perennial.yaml")))
    }

    private static let configuration = """
        apps:
          birds:
            bundle_id: com.example.birds
            app_apple_id: 1234567890
            simulated: true
            products:
              \(DocumentMaker.product): [pro]
            trust:
              extra_roots: [root.cer]
        """

    /// A simulator, for its clock. It stands still.
    func simulate() throws -> RunningProgram {
        let port = try Sockets.freePort()
        return try run(
            "perennial",
            ["simulate", "--port", "\(port)", "--data", bench.url.path, "--log-level", "error"],
            port: port, ready: "/_sim/health")
    }

    /// A server as in production, logging as it does by default.
    func serve(_ database: String, clock: RunningProgram) throws -> RunningProgram {
        let port = try Sockets.freePort()
        return try run(
            "perennial",
            [
                "serve", "--port", "\(port)", "--clock-from", "http://127.0.0.1:\(clock.port)",
            ] + common(database),
            port: port, ready: "/ready")
    }

    /// A route that answers with so many bytes, always the same.
    func constantServer(bytes: Int) throws -> RunningProgram {
        let port = try Sockets.freePort()
        return try run(
            "perennial-bench", ["constant-server", "--port", "\(port)", "--bytes", "\(bytes)"],
            port: port, ready: "/ready")
    }

    /// Makes the tables, and a key.
    func createKey(_ database: String) throws -> String {
        let process = Process()
        process.executableURL = folder.appending(path: "perennial")
        process.arguments =
            ["keys", "create", "--app", "birds", "--kind", "secret"] + common(database)
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let output = String(
            decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let key = output.firstMatch(of: /sk_\w+/) else {
            throw BenchFailure("perennial keys create failed: \(output)")
        }
        return String(key.output)
    }

    private func common(_ database: String) -> [String] {
        ["--config", bench.path("perennial.yaml"), "--database", database]
    }

    private func run(
        _ program: String, _ arguments: [String], port: UInt16, ready: String
    ) throws -> RunningProgram {
        let process = Process()
        process.executableURL = folder.appending(path: program)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let start = ContinuousClock.now
        try process.run()
        let running = RunningProgram(process: process, port: port)
        let deadline = Date(timeIntervalSinceNow: Self.startSeconds)
        while Date() < deadline, process.isRunning {
            if let load = try? Load(port: port, connections: 1),
                (try? load.send(1) { _ in HTTPRequestBytes.get(ready) }) != nil
            {
                running.startSeconds = (ContinuousClock.now - start) / .seconds(1)
                return running
            }
            usleep(Self.pollMicroseconds)
        }
        running.stop()
        throw BenchFailure("\(program) \(arguments.joined(separator: " ")) did not become ready")
    }
}

/// A program that listens.
final class RunningProgram {
    private let process: Process
    let port: UInt16
    /// From its start to its first answer.
    fileprivate(set) var startSeconds = 0.0

    var id: Int32 { process.processIdentifier }

    fileprivate init(process: Process, port: UInt16) {
        self.process = process
        self.port = port
    }

    deinit { stop() }

    /// Asks it to end, and waits.
    func stop() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }
}
