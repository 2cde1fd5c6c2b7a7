import ArgumentParser
import Foundation
import Logging
import Simulator

/// Reports the failure of a command: prints a message that says what to do, and exits with code 1.
enum Outcome {
    static func reportingFailures(_ body: () async throws -> Void) async throws {
        do { try await body() } catch let failure as StartFailure {
            printError("error: \(failure)")
            throw ExitCode(1)
        } catch let problem as SimulatorProblem {
            printError("error: \(problem.message)\n  \(problem.remedy)")
            throw ExitCode(1)
        } catch let failure as ConfigurationFailure {
            for complaint in failure.complaints {
                printError("error: \(complaint.text(file: failure.file))")
            }
            throw ExitCode(1)
        }
    }

    /// Reads a configuration and prints its warnings.
    static func configuration(at path: String) throws -> ConfigurationFile {
        let file = try ConfigurationFile(path: path)
        warn(of: file, at: path)
        return file
    }

    static func warn(of file: ConfigurationFile, at path: String) {
        warn(file.warnings, at: path)
    }

    static func warn(_ warnings: [ConfigurationProblem], at path: String) {
        for warning in warnings { printError("warning: \(warning.text(file: path))") }
    }

    static func printError(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }
}
