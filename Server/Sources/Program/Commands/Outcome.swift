import ArgumentParser
import Foundation
import Logging
import Simulator

/// How a command ends where it cannot do what was asked: a message that says what to do, and exit
/// code 1.
enum Outcome {
    static func reported(_ body: () async throws -> Void) async throws {
        do { try await body() } catch let failure as StartFailure {
            toStandardError("error: \(failure)")
            throw ExitCode(1)
        } catch let problem as StoreProblem {
            toStandardError("error: \(problem.message)\n  \(problem.remedy)")
            throw ExitCode(1)
        } catch let failure as ConfigurationFailure {
            for complaint in failure.complaints {
                toStandardError("error: \(complaint.text(file: failure.file))")
            }
            throw ExitCode(1)
        }
    }

    /// Reads a configuration; warnings are printed and nothing more.
    static func configuration(at path: String) throws -> ConfigurationFile {
        let file = try ConfigurationFile(path: path)
        warn(of: file, at: path)
        return file
    }

    static func warn(of file: ConfigurationFile, at path: String) {
        for warning in file.warnings { toStandardError("warning: \(warning.text(file: path))") }
    }

    static func toStandardError(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }
}

/// The log goes to standard error, so that what a command answers stands alone.
enum Log {
    static func level(_ text: String) throws -> Logger.Level {
        do { return try Settings.logLevel(text) } catch {
            throw ValidationError("\(error.message) \(error.remedy)")
        }
    }

    /// At its end the process waits so long for the last lines to be read.
    private static let lastLinesSecondsMax = 1.0

    static func start(_ level: Logger.Level) -> Logger {
        atexit { LineLog.standardError.flush(atMost: Log.lastLinesSecondsMax) }
        LoggingSystem.bootstrap { label in LineLog(label: label, level: level) }
        return Logger(label: "perennial")
    }
}
