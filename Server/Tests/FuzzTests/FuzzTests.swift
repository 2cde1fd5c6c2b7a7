import Foundation
import Testing

/// The program `Fuzz` in a process of its own, so that its watch sees nothing but its own work.
/// How many rounds, from PERENNIAL_ROUNDS; the seed, from PERENNIAL_SEED.
@Suite struct FuzzTests {
    private static let rounds = 100_000

    @Test func `no damaged document crashes a reader, or costs it much time or memory`() throws {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["PERENNIAL_ROUNDS"] ?? "\(Self.rounds)"
        var arguments = ["--rounds", rounds]
        if let seed = environment["PERENNIAL_SEED"] { arguments += ["--seed", seed] }
        let process = Process()
        process.executableURL = try Self.executable()
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let text = String(decoding: output, as: UTF8.self)
        #expect(process.terminationStatus == 0, "\(text)")
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
