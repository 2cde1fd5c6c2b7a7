import Foundation

/// Runs the built programs, each in a separate process, so that its processor time can be measured.
struct Programs: Sendable {
    static let startSeconds = 60.0
    private static let pollMicroseconds: UInt32 = 1000

    let bench: BenchFolder
    let folder: URL

    /// - Parameter folder: the folder of the programs; nil for the folder of this program.
    init(_ bench: BenchFolder, in folder: URL? = nil) throws {
        self.bench = bench
        self.folder =
            folder
            ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
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
            products: {\(products)}
            tokens: false
            trust:
              extra_roots: [root.cer]
        """

    /// The products of the documents that are made here, and those of the simulator's full shop.
    private static let products = [
        DocumentMaker.product, "tiers.gold", "tiers.gold.yearly", "tiers.silver",
        "tiers.silver.other", "tiers.bronze", "weeks.one", "weeks.half", "family.alone",
        "family.large", "family.monthly", "family.yearly", "years.promised", "season", "atlas",
    ].map { "\($0): [pro]" }.joined(separator: ", ")

    /// Starts a simulator, whose clock stands still. Servers follow this clock.
    func simulate() throws -> RunningProgram {
        let port = try Sockets.freePort()
        return try run(
            "perennial",
            ["simulate", "--port", "\(port)", "--data", bench.url.path, "--log-level", "error"],
            port: port, ready: "/_sim/health")
    }

    /// Starts a server as in production, with the default log level.
    ///
    /// - Parameter webhook: the program that receives the events; nil for none.
    func serve(
        _ database: String, clock: RunningProgram, port: UInt16? = nil,
        webhook: RunningProgram? = nil
    ) throws -> RunningProgram {
        let port = try port ?? Sockets.freePort()
        let configuration = try webhook.map { try webhookConfiguration(port: $0.port) }
        return try run(
            "perennial",
            [
                "serve", "--port", "\(port)", "--clock-from", "http://127.0.0.1:\(clock.port)",
            ] + common(database, configuration),
            port: port, ready: "/ready")
    }

    /// The path of a configuration that posts every event to a port.
    private func webhookConfiguration(port: UInt16) throws -> String {
        let (file, secret) = (bench.path("webhook.yaml"), bench.path("webhook.secret"))
        try Data(Self.webhookSecret.utf8).write(to: URL(fileURLWithPath: secret))
        let text =
            Self.configuration + """

                    webhooks:
                      allow_private: [127.0.0.1]
                      endpoints:
                        - name: bench
                          url: http://127.0.0.1:\(port)/
                          secret_file: webhook.secret
                """
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }

    private static let webhookSecret = "whsec_" + String(repeating: "QUJD", count: 8)

    /// Starts a server with a dashboard, for which every client on this machine is the operator
    /// ``operatorName``.
    func serveDashboard(
        _ database: String, clock: RunningProgram
    ) throws -> RunningProgram {
        let port = try Sockets.freePort()
        let file = bench.path("dashboard.yaml")
        let text =
            Self.configuration + """

                dashboard:
                  url: http://127.0.0.1:\(port)
                  trusted_proxy:
                    addresses: [127.0.0.1]
                    user_header: \(Self.operatorField)
                """
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return try run(
            "perennial",
            [
                "serve", "--port", "\(port)", "--clock-from", "http://127.0.0.1:\(clock.port)",
                "--config", file, "--database", database,
            ],
            port: port, ready: "/ready")
    }

    /// The name of the dashboard's operator, and the header field that names the operator.
    static let operatorName = "bench"
    static let operatorField = "x-forwarded-user"

    /// Starts a server with a route that always responds with the same bytes.
    func constantServer(bytes: Int) throws -> RunningProgram {
        let port = try Sockets.freePort()
        return try run(
            "perennial-bench", ["constant-server", "--port", "\(port)", "--bytes", "\(bytes)"],
            port: port, ready: "/ready")
    }

    /// Starts a server that uses bare sockets and responds with the same number of bytes.
    func bareServer(bytes: Int) throws -> RunningProgram {
        let port = try Sockets.freePort()
        return try run(
            "perennial-bench", ["bare-server", "--port", "\(port)", "--bytes", "\(bytes)"],
            port: port, ready: "/ready")
    }

    /// Starts a server that uses SwiftNIO alone and responds with the same number of bytes.
    func libraryServer(bytes: Int) throws -> RunningProgram {
        let port = try Sockets.freePort()
        return try run(
            "perennial-bench", ["library-server", "--port", "\(port)", "--bytes", "\(bytes)"],
            port: port, ready: "/ready")
    }

    /// Creates the tables and a key. Returns the key.
    func createKey(_ database: String) throws -> String {
        let (status, output) = try run(
            ["keys", "create", "--app", "birds", "--kind", "secret"], on: database)
        guard status == 0, let key = output.firstMatch(of: /sk_\w+/) else {
            throw BenchFailure("perennial keys create failed: \(output)")
        }
        return String(key.output)
    }

    /// Runs a command of `perennial` to its end, and returns its exit code and standard output.
    func run(_ arguments: [String], on database: String) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = folder.appending(path: "perennial")
        process.arguments = arguments + common(database)
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let output = String(
            decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, output)
    }

    private func common(_ database: String, _ configuration: String? = nil) -> [String] {
        ["--config", configuration ?? bench.path("perennial.yaml"), "--database", database]
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

/// A program that listens on a port. It always ends when this process ends, because a shell watches
/// a pipe from this process.
final class RunningProgram {
    private static let watching =
        "\"$@\" </dev/null >/dev/null 2>&1 & echo $!; read -r _; kill $!; wait $!"

    private let shell = Process()
    private let leash = Pipe()
    let id: Int32
    let port: UInt16
    /// The time from the program's start to its first response.
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

    /// Ends the program and waits until it has ended.
    func stop() {
        guard shell.isRunning else { return }
        leash.fileHandleForWriting.closeFile()
        shell.waitUntilExit()
    }
}
