internal import Foundation

/// Runs `perennial dev` on free ports. A shell ends the program when this process ends, even after
/// a crash.
struct WorldProgram: Sendable {
    /// The maximum number of lines that the program may print before it is ready.
    static let linesMax = 50

    let server: URL
    let simulator: URL
    let key: String
    /// The secret key of the same app.
    let secretKey: String
    /// The options that name the database of the program.
    private let options: [String]
    private let input: FileHandle

    /// The path of the program `perennial`. Nil if no program was found.
    static let path: String? = {
        let environment = ProcessInfo.processInfo.environment
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let folders = (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/perennial" }
        let built = package.appendingPathComponent("Server/.build/debug/perennial").path
        let places = [environment["PERENNIAL_PROGRAM"], built].compactMap { $0 } + folders
        return places.first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    private static let missing = WorldFailure(
        "There is no program `perennial`. Name it in PERENNIAL_PROGRAM, put it into the PATH, or "
            + "name a world that runs in PERENNIAL_WORLD.")

    static func start(
        in folder: URL, configuration: URL?, database: String?
    ) async throws -> Self {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try await withCheckedThrowingContinuation { continuation in
            // Uses a separate thread, because reading the first lines blocks.
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try Self(folder: folder, configuration: configuration, database: database)
                    })
            }
        }
    }

    private init(folder: URL, configuration: URL?, database: String?) throws {
        guard let program = Self.path else { throw Self.missing }
        let script = """
            config=$2; data=$1; database=$3
            set -- dev --port 0 --simulator-port 0 --data "$data"
            [ -n "$config" ] && set -- "$@" --config "$config"
            [ -n "$database" ] && set -- "$@" --database "$database"
            "$0" "$@" </dev/null & child=$!; exec >&-; read -r line; kill $child
            """
        // Without `exec`, the shell would keep the pipe open, and the wait for a program that does
        // not start would never end.
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = [
            "-c", script, program, folder.appendingPathComponent("data").path,
            configuration?.path ?? "", database ?? "",
        ]
        let (stdin, output) = (Pipe(), Pipe())
        shell.standardInput = stdin
        shell.standardOutput = output
        try shell.run()
        input = stdin.fileHandleForWriting
        options =
            ["--data", folder.appendingPathComponent("data").path]
            + (configuration.map { ["--config", $0.path] } ?? [])
            + (database.map { ["--database", $0] } ?? [])
        let lines = Self.lines(of: output.fileHandleForReading)
        server = try Self.address("server", in: lines)
        simulator = try Self.address("simulator", in: lines)
        let words = lines.first { $0.hasPrefix("keys ") }?.split(separator: " ") ?? []
        guard let key = words.first(where: { $0.hasPrefix("pk_") }),
            let secretKey = words.first(where: { $0.hasPrefix("sk_") })
        else { throw WorldFailure("The program said: \(lines)") }
        self.key = String(key)
        self.secretKey = String(secretKey)
    }

    func stop() { try? input.close() }

    /// Runs another command of the program on the same database.
    func run(_ command: [String]) async throws {
        guard let program = Self.path else { throw Self.missing }
        let arguments = command + options
        let status = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try Self.status(of: program, arguments) })
            }
        }
        guard status == 0 else { throw WorldFailure("\(arguments) ended with \(status).") }
    }

    /// The exit status of a command. A shell reports it, because Foundation on Linux sometimes does
    /// not notice the end of a program.
    private static func status(of program: String, _ arguments: [String]) throws -> Int {
        let (shell, output) = (Process(), Pipe())
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", "\"$0\" \"$@\" >&2; echo $?", program] + arguments
        shell.standardOutput = output
        try shell.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1
    }

    /// Reads the output up to the line with the keys, which follows the lines with the addresses.
    private static func lines(of output: FileHandle) -> [Substring] {
        var text = ""
        for _ in 0..<linesMax {
            let data = output.availableData
            text += String(decoding: data, as: UTF8.self)
            if data.isEmpty || text.range(of: "\nkeys .*\n", options: .regularExpression) != nil {
                break
            }
        }
        return text.split(separator: "\n")
    }

    private static func address(_ name: String, in lines: [Substring]) throws -> URL {
        guard let line = lines.first(where: { $0.hasPrefix("\(name) ") }),
            let address = line.split(separator: " ").last,
            let port = URL(string: String(address))?.port,
            let url = URL(string: "http://127.0.0.1:\(port)")
        else { throw WorldFailure("The program said: \(lines)") }
        return url
    }
}
