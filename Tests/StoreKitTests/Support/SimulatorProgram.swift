import Eventually
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@testable import StoreKit

/// `perennial simulate` on a free port.
struct SimulatorProgram: Sendable {
    /// The longest wait for the program's first line, in seconds.
    private static let startSecondsMax = 120.0

    let url: URL
    private let process: ProcessEnd

    /// The path of the program: `PERENNIAL_PROGRAM`, or the debug build of this repository. Nil if
    /// there is no program.
    static let path: String? = {
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let built = package.appendingPathComponent("Server/.build/debug/perennial").path
        let named = ProcessInfo.processInfo.environment["PERENNIAL_PROGRAM"]
        return [named, built].compactMap { $0 }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    static var isThere: Bool { path != nil }

    /// One program for all tests of this process.
    static let shared = Task { try await SimulatorProgram() }

    /// Starts a program. A shell ends the program when this process ends, even after a crash.
    init() async throws {
        let program = try #require(Self.path, "skipped: no program")
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("storekit-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        setenv("XDG_CACHE_HOME", folder.appendingPathComponent("cache").path, 1)
        let script = """
            "$0" simulate --port 0 --data "$1" </dev/null & child=$!; exec >&-
            read -r line; kill $child
            """
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", script, program, folder.appendingPathComponent("data").path]
        let (input, output) = (Pipe(), Pipe())
        shell.standardInput = input
        shell.standardOutput = output
        try shell.run()
        process = ProcessEnd(shell, input)
        url = try await Self.address(in: output, of: shell)
    }

    /// Ends the program.
    func stop() { process.end() }

    /// Reads the address from the first line: `simulator  http://localhost:8090`.
    private static func address(in output: Pipe, of shell: Process) async throws -> URL {
        let reader = output.fileHandleForReading
        let text = try await onOwnThread {
            Result {
                try shell.whileItRuns(waitingFor: "its port", within: Self.startSecondsMax) {
                    var line = Data()
                    while !line.contains(UInt8(ascii: "\n")) {
                        let data = reader.availableData
                        guard !data.isEmpty else { break }
                        line += data
                    }
                    return String(decoding: line, as: UTF8.self)
                }
            }
        }.get()
        let word = try #require(text.split(whereSeparator: \.isWhitespace).last)
        let port = try #require(URL(string: String(word))?.port, "The program said: \(text)")
        return try #require(URL(string: "http://127.0.0.1:\(port)"))
    }
}

/// Ends a process by closing its input.
private final class ProcessEnd: Sendable {
    private struct Parts {
        let process: Process
        let input: Pipe
    }

    private let parts: Mutex<Parts>

    init(_ process: sending Process, _ input: sending Pipe) {
        parts = Mutex(Parts(process: process, input: input))
    }

    func end() {
        parts.withLock { parts in
            try? parts.input.fileHandleForWriting.close()
            #expect(throws: Never.self) { try parts.process.waitForEnd() }
        }
    }
}
