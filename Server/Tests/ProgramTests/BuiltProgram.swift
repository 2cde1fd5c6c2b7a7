import Foundation
import Testing

/// The built program, which lies beside the tests. Each call runs it in its own process.
enum BuiltProgram {
    static func path() throws -> String {
        let folders = [
            URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent(),
            URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../../.build/debug"),
        ]
        let paths = folders.map { $0.appendingPathComponent("perennial").standardized.path }
        return try #require(
            paths.first { FileManager.default.isExecutableFile(atPath: $0) },
            "the program perennial is not built: swift build")
    }

    /// Returns the output of a script that runs in its own folder. `$perennial` is the path of the
    /// program.
    static func output(of script: String) async throws -> String {
        let program = try path()
        return try await TemporaryFolder.with { folder in
            try await Shell.output(
                of: "set -euo pipefail; cd '\(folder)'; perennial='\(program)'\n\(script)")
        }
    }
}
