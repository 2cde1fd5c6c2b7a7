import ArgumentParser
import Foundation
import Logging

/// The log goes to standard error, so that standard output contains only a command's result.
enum Log {
    static func level(_ text: String) throws -> Logger.Level {
        do { return try ProcessSettings.logLevel(text) } catch {
            throw ValidationError("\(error.message) \(error.remedy)")
        }
    }

    /// The maximum time to wait at exit for the last lines to be written, in seconds.
    private static let lastLinesSecondsMax = 1.0

    static func start(_ level: Logger.Level) -> Logger {
        atexit { LineLog.standardError.flush(atMost: Log.lastLinesSecondsMax) }
        LoggingSystem.bootstrap { label in LineLog(label: label, level: level) }
        return Logger(label: "perennial")
    }
}
