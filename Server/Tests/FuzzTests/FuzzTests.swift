import Eventually
import Foundation
import Testing

/// Runs the program `Fuzz` in its own process, so that only its own work is measured.
/// PERENNIAL_ROUNDS sets the number of rounds, and PERENNIAL_SEED sets the seed.
@Suite struct FuzzTests {
    private static let rounds = 100_000
    private static let secondsMax = 540.0

    @Test func `a damaged document cannot crash a reader, or use much of its time or memory`()
        async throws
    {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["PERENNIAL_ROUNDS"] ?? "\(Self.rounds)"
        var arguments = ["--rounds", rounds]
        if let seed = environment["PERENNIAL_SEED"] { arguments += ["--seed", seed] }
        let process = Process()
        process.executableURL = try Self.executable()
        process.arguments = arguments
        let file = FileManager.default.temporaryDirectory
            .appending(path: "perennial-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data().write(to: file)
        process.standardOutput = try FileHandle(forWritingTo: file)
        process.standardError = process.standardOutput
        try process.run()
        let share = Double(rounds).map { $0 / Double(Self.rounds) } ?? 1
        let status = try await process.waitForEnd(within: Self.secondsMax * max(1, share))
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        #expect(status == 0, "\(text)")
        #expect(text.contains("\(rounds) inputs"), "\(text)")
    }

    private struct NotBuilt: Error {}

    private static func executable() throws -> URL {
        let here = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let built = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../.build/debug")
        for folder in [here, built] {
            let url = folder.appending(path: "Fuzz").standardizedFileURL
            if FileManager.default.isExecutableFile(atPath: url.path) { return url }
        }
        throw NotBuilt()
    }
}
