import AppStoreFormats
import Crypto
import Eventually
import Foundation
import Simulator
import Storage
import Synchronization
import Testing

/// The payloads that a server has answered with 200.
final class Acknowledged: Sendable {
    private let payloads = Mutex<Set<String>>([])
    private let refused = Mutex<[Int]>([])

    func add(_ payload: String) { payloads.withLock { _ = $0.insert(payload) } }
    func add(refusal status: Int) { refused.withLock { $0.append(status) } }
    var all: Set<String> { payloads.withLock { $0 } }
    /// The statuses of all other responses to ``Stream/send(_:to:_:)``.
    var refusals: [Int] { refused.withLock { $0 } }
}

struct TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(
            path: "perennial-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}

/// The built program `perennial`, run as `serve` on its own database for the app of a simulator.
struct ServerProgram: Sendable {
    let folder: TemporaryFolder
    let simulator: Wire
    let configuration: String
    /// The kind of database that the program uses.
    let engine: StoryDatabase
    private(set) var database: String
    /// A secret key of the app.
    let key: String

    fileprivate static let startSeconds = waitSecondsMax

    struct Missing: Error, CustomStringConvertible {
        var description: String
    }

    /// - Parameter leaseSeconds: how long a server leases a check; nil if the server does not ask
    ///   the simulator.
    /// - Parameter more: lines of the app's configuration.
    init(
        folder: TemporaryFolder, simulator: Wire, on engine: StoryDatabase, _ database: String,
        leaseSeconds: Int? = nil, more: String = ""
    ) async throws {
        self.folder = folder
        self.simulator = simulator
        configuration = folder.path + "/perennial.yaml"
        self.engine = engine
        self.database = database
        let text = """
            apps:
              birds:
                bundle_id: com.example.birds
                app_apple_id: 1234567890
                simulated: true
                products:
                  pro.monthly: [pro]
                  pro.yearly: [pro]
                trust:
                  extra_roots: [root.cer]
            """
        let asking = leaseSeconds.map { Self.asking(simulator, leaseSeconds: $0) } ?? ""
        try Data(APIKey.wellKnownPEM.utf8).write(to: URL(filePath: folder.path + "/key.p8"))
        let root = try await simulator.send("GET", "/_sim/root.cer")
        try Data(root.body).write(to: URL(filePath: folder.path + "/root.cer"))
        try Data((text + "\n" + more + asking).utf8).write(to: URL(filePath: configuration))
        let made = try await Self.run(
            ["keys", "create", "--app", "birds", "--kind", "secret"], on: configuration, database)
        guard made.status == 0, let key = made.output.firstMatch(of: /sk_\w+/) else {
            throw Missing(description: made.output)
        }
        self.key = String(key.output)
    }

    /// The end of the app's configuration, by which the server asks the simulator.
    private static func asking(_ simulator: Wire, leaseSeconds: Int) -> String {
        """

            app_store:
              key_id: \(APIKey.wellKnown.id)
              issuer_id: \(APIKey.wellKnown.issuerID)
              private_key_file: key.p8
              production_url: \(simulator.base)
        settings:
          check_lease_seconds: \(leaseSeconds)
        """
    }

    /// A server that listens.
    struct Running: Sendable {
        let wire: Wire
        let process: Int32

        /// Suspends the process at any point, or resumes it.
        func pause() { Foundation.kill(process, SIGSTOP) }
        func resume() { Foundation.kill(process, SIGCONT) }

        /// Returns true as soon as the server responds, and false if the program has ended.
        fileprivate func wait(for path: String, of program: Process) async throws -> Bool {
            var hasEnded = false
            let isDecided = try await isSoon(within: ServerProgram.startSeconds) {
                hasEnded = !program.isRunning
                guard !hasEnded else { return true }
                return (try? await wire.impatient.send("GET", path))?.status == 200
            }
            if isDecided { return !hasEnded }
            kill()
            let what = "\(wire.base)\(path) of the started program"
            throw NeverCame(what, within: ServerProgram.startSeconds)
        }

        /// Stops the process as an operator does. Returns the exit status, or nil if the process
        /// had to be killed.
        func stop(within seconds: Double, by signal: Int32 = SIGTERM) async throws -> Int32? {
            Foundation.kill(process, signal)
            var status: Int32 = 0
            let hasEnded = try await isSoon(within: seconds) {
                waitpid(process, &status, WNOHANG) != 0
            }
            if hasEnded { return status }
            kill()
            return nil
        }

        /// Kills the process as a power failure would, without a signal that the process could
        /// handle.
        func kill() {
            Foundation.kill(process, SIGKILL)
            var status: Int32 = 0
            waitpid(process, &status, 0)
        }
    }

    /// The maximum number of attempts to start. Another program may take a free port before ours
    /// listens on it.
    private static let startsMax = 5

    /// - Parameter port: the port; nil for a free port.
    /// - Parameter keys: the address that accepts secret keys, if it is a separate one.
    func start(port wished: UInt16? = nil, keysAt keys: Wire? = nil) async throws -> Running {
        for _ in 1...Self.startsMax {
            let (running, process) = try begin(port: try wished ?? Self.freePort())
            if try await running.wait(for: "/ready", of: process),
                try await isOurs(keys ?? running.wire)
            {
                return running
            }
            if process.isRunning { running.kill() }
        }
        throw Missing(description: "the program does not listen where it should")
    }

    /// Another story's server may listen on this port, but does not know the key.
    private func isOurs(_ wire: Wire) async throws -> Bool {
        var wire = wire
        wire.bearer = key
        return try await wire.send("GET", "/v1/customers/nobody").status == 200
    }

    private func begin(port: UInt16) throws -> (Running, Process) {
        let process = Process()
        process.executableURL = try Self.executable()
        process.arguments =
            ["serve", "--port", "\(port)", "--clock-from", simulator.base] + common
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        let running = Running(
            wire: Wire(base: "http://127.0.0.1:\(port)"), process: process.processIdentifier)
        return (running, process)
    }

    /// Starts another command, and does not wait for its end.
    ///
    /// - Parameter output: where the command's standard output goes.
    func begin(
        _ arguments: [String], writing output: FileHandle = .nullDevice
    ) throws -> Running {
        let process = Process()
        process.executableURL = try Self.executable()
        process.arguments = arguments + common
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        return Running(wire: simulator, process: process.processIdentifier)
    }

    /// How long a program that refuses to start may take to say so.
    static let refusalSeconds = 60.0

    /// The program with another database address.
    func reaching(_ database: String) -> ServerProgram {
        var program = self
        program.database = database
        return program
    }

    /// Runs another command of the program to its end.
    ///
    /// - Parameter seconds: the time after which the command is killed.
    func run(
        _ arguments: [String], within seconds: Double = waitSecondsMax
    ) async throws -> (status: Int32, output: String) {
        try await Self.run(arguments, on: configuration, database, within: seconds)
    }

    /// Runs a command whose arguments name its databases.
    func runWithoutLocation(
        _ arguments: [String]
    ) async throws -> (status: Int32, output: String) {
        try await Self.output(ofProgramWith: arguments, within: waitSecondsMax)
    }

    private static func run(
        _ arguments: [String], on configuration: String, _ database: String,
        within seconds: Double = waitSecondsMax
    ) async throws -> (status: Int32, output: String) {
        try await output(
            ofProgramWith: arguments + ["--config", configuration, "--database", database],
            within: seconds)
    }

    fileprivate static func output(
        ofProgramWith arguments: [String], within seconds: Double
    ) async throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = try executable()
        process.arguments = arguments
        let (status, bytes) = try await process.output(withErrors: true, within: seconds)
        return (status, String(decoding: bytes, as: UTF8.self))
    }

    /// Expects that a rebuild derives the same rows, and that the log covers all of them.
    func expectClean() async throws {
        let verdict = try await run(["rebuild", "--verify"])
        #expect(verdict.status == 0, "\(verdict.output)")
    }

    func documentCount() async throws -> Int {
        let store = Database(try engine.open(database))
        let count = try await store.read { try $0.documents.count() }
        store.driver.close()
        return count
    }

    func eventCount() async throws -> Int64 {
        let store = Database(try engine.open(database))
        let count = try await store.readingLog { try $0.events.lastSequence(of: "birds") }
        store.driver.close()
        return count
    }

    /// Whether there are committed events that have no number yet.
    func hasPendingEvents() async throws -> Bool {
        let store = Database(try engine.open(database))
        let isSo = try await store.read { try $0.pendingEvents.hasAny(of: "birds") }
        store.driver.close()
        return isSo
    }

    private var common: [String] { ["--config", configuration, "--database", database] }

    /// The payloads that are neither in this database nor in the other one.
    func missing(_ payloads: Set<String>, in other: String? = nil) async throws -> [String] {
        let store = Database(try engine.open(other ?? database))
        var kept: Set<[UInt8]> = []
        var position = DocumentPosition.start
        while true {
            let from = position
            let documents = try await store.read {
                try $0.documents.all(of: "birds", after: from, limit: 500)
            }
            guard let last = documents.last else { break }
            kept.formUnion(documents.map(\.id))
            position = DocumentPosition(after: last)
        }
        store.driver.close()
        return payloads.filter { !kept.contains(documentID(of: $0)) }
    }

    static func executable() throws -> URL {
        let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        for candidate in [
            folder,
            URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../.build/debug"),
        ] {
            let url = candidate.appending(path: "perennial").standardizedFileURL
            if FileManager.default.isExecutableFile(atPath: url.path) { return url }
        }
        throw Missing(description: "the program perennial is not built: swift build")
    }

    /// A port on which no program listens at the moment.
    static func freePort() throws -> UInt16 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard bound else { throw Missing(description: "no port is free") }
        return UInt16(bigEndian: address.sin_port)
    }
}

/// The built program `perennial`, run as `simulate`.
enum SimulatorProgram {
    static func start(in folder: TemporaryFolder) async throws -> ServerProgram.Running {
        let port = try ServerProgram.freePort()
        let process = Process()
        process.executableURL = try ServerProgram.executable()
        process.arguments = ["simulate", "--port", "\(port)", "--data", folder.path + "/store"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        let running = ServerProgram.Running(
            wire: Wire(base: "http://127.0.0.1:\(port)"), process: process.processIdentifier)
        guard try await running.wait(for: "/_sim/health", of: process) else {
            throw ServerProgram.Missing(description: "the simulator did not start")
        }
        return running
    }
}

/// The built program `perennial`, run as `dev`.
struct DevelopmentProgram: Sendable {
    let server: Wire
    let simulator: Wire
    private let running: ServerProgram.Running

    var process: Int32 { running.process }

    static func start(
        in folder: TemporaryFolder, _ arguments: [String] = []
    ) async throws -> Self {
        let (port, simulatorPort) = (try ServerProgram.freePort(), try ServerProgram.freePort())
        let process = Process()
        process.executableURL = try ServerProgram.executable()
        process.arguments =
            [
                "dev", "--data", folder.path, "--port", "\(port)", "--simulator-port",
                "\(simulatorPort)",
            ] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        let running = ServerProgram.Running(
            wire: Wire(base: "http://127.0.0.1:\(simulatorPort)"),
            process: process.processIdentifier)
        guard try await running.wait(for: "/_sim/health", of: process) else {
            throw ServerProgram.Missing(description: "development did not start")
        }
        return Self(
            server: Wire(base: "http://127.0.0.1:\(port)"), simulator: running.wire,
            running: running)
    }

    func kill() { running.kill() }

    /// Runs the program to its end. A program that refuses to start ends immediately.
    static func run(
        in folder: TemporaryFolder, _ arguments: [String]
    ) async throws -> (status: Int32, output: String) {
        try await ServerProgram.output(
            ofProgramWith: ["dev", "--data", folder.path, "--port", "0", "--simulator-port", "0"]
                + arguments, within: ServerProgram.refusalSeconds)
    }
}

/// The identity of a signed document: the SHA-256 of its signed part.
func documentID(of jws: String) -> [UInt8] {
    Array(SHA256.hash(data: CompactJWS(jws)?.signedBytes ?? []))
}
