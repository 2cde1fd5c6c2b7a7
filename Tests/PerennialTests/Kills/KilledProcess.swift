import Foundation
import Glibc
import PerennialTesting
import Synchronization

/// A process of the program `KilledApp`.
final class KilledProcess: Sendable {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// The path of the program, which is beside the tests, or where `swift build` puts it.
    static let path: String? = {
        let tests = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return [tests, package.appendingPathComponent(".build/debug")]
            .map { $0.appendingPathComponent("KilledApp").path }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    private let id: pid_t
    private let lines: AsyncStream<String>
    private let ended: Task<Void, Never>

    /// - Parameter product: the product that the process buys. If nil, the process finishes the
    ///   unfinished transactions.
    init(
        _ phone: Device, in world: World, customer: String, buying product: String?
    ) throws {
        guard let path = Self.path else { throw Failure(description: "There is no KilledApp.") }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments =
            [
                world.simulator.absoluteString, world.address(for: phone).absoluteString,
                world.key, phone.id, phone.account, phone.folder.path, customer,
            ] + (product.map { [$0] } ?? [])
        let output = Pipe()
        process.standardOutput = output
        let (ends, end) = AsyncStream.makeStream(of: Never.self)
        process.terminationHandler = { _ in end.finish() }
        try process.run()
        id = process.processIdentifier
        ended = Task { for await _ in ends {} }
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        let reader = output.fileHandleForReading
        Thread.detachNewThread {
            var text = ""
            while case let data = reader.availableData, !data.isEmpty {
                text += String(decoding: data, as: UTF8.self)
                while let end = text.firstIndex(of: "\n") {
                    continuation.yield(String(text[..<end]))
                    text.removeSubrange(...end)
                }
            }
            continuation.finish()
        }
    }

    /// Waits for a line. Returns false if the process ended without writing the line.
    func says(_ line: String) async -> Bool {
        for await said in lines where said == line { return true }
        return false
    }

    /// Kills the process at once, as the system or an empty battery does.
    func kill() async {
        Glibc.kill(id, SIGKILL)
        await ended.value
    }
}
