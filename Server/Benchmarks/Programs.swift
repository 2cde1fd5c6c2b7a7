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
            tokens: false
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

    /// Sockets alone, which answer as many bytes.
    func bareServer(bytes: Int) throws -> RunningProgram {
        let port = try Sockets.freePort()
        return try run(
            "perennial-bench", ["bare-server", "--port", "\(port)", "--bytes", "\(bytes)"],
            port: port, ready: "/ready")
    }

    /// The same by SwiftNIO.
    func libraryServer(bytes: Int) throws -> RunningProgram {
        let port = try Sockets.freePort()
        return try run(
            "perennial-bench", ["library-server", "--port", "\(port)", "--bytes", "\(bytes)"],
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
        let start = ContinuousClock.now
        let running = try RunningProgram(folder.appending(path: program), arguments, port: port)
        let deadline = Date(timeIntervalSinceNow: Self.startSeconds)
        while Date() < deadline, running.isAlive {
            if let load = try? Load(port: port, connections: 1),
                (try? load.exchange(1) { _ in HTTPRequestBytes.get(ready) }) != nil
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

/// A program that listens. It ends with this process, whatever ends it: a shell watches over a
/// pipe.
final class RunningProgram {
    private static let watching =
        "\"$@\" </dev/null >/dev/null 2>&1 & echo $!; read -r _; kill $!; wait $!"

    private let shell = Process()
    private let leash = Pipe()
    let id: Int32
    let port: UInt16
    /// From its start to its first answer.
    fileprivate(set) var startSeconds = 0.0

    fileprivate init(_ program: URL, _ arguments: [String], port: UInt16) throws {
        self.port = port
        shell.executableURL = URL(fileURLWithPath: "/bin/bash")
        shell.arguments = ["-c", Self.watching, "bash", program.path] + arguments
        shell.standardInput = leash
        let answer = Pipe()
        shell.standardOutput = answer
        try shell.run()
        let line = String(decoding: answer.fileHandleForReading.availableData, as: UTF8.self)
        guard let id = Int32(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw BenchFailure("\(program.path) could not be started")
        }
        self.id = id
    }

    deinit { stop() }

    var isAlive: Bool { kill(id, 0) == 0 }

    /// Asks it to end, and waits.
    func stop() {
        guard shell.isRunning else { return }
        leash.fileHandleForWriting.closeFile()
        shell.waitUntilExit()
    }
}
