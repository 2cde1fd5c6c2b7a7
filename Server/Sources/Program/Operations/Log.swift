import ArgumentParser
import Foundation
import Logging
import Synchronization

/// The log goes to standard error, so that standard output contains only a command's result.
enum Log {
    static func level(_ text: String) throws -> Logger.Level {
        do { return try ProcessSettings.logLevel(text) } catch {
            throw ValidationError("\(error.message) \(error.remedy)")
        }
    }

    /// The maximum time to wait at exit for the last lines to be written, in seconds.
    private static let lastLinesSecondsMax = 1.0

    private static let hasStarted = Mutex(false)

    /// Starts the log. A command that opens its database twice calls this function twice; the level
    /// of the first call stays.
    static func start(_ level: Logger.Level) -> Logger {
        let isFirst = hasStarted.withLock { hasStarted in
            defer { hasStarted = true }
            return !hasStarted
        }
        if isFirst {
            atexit { LineLog.standardError.flush(atMost: Log.lastLinesSecondsMax) }
            LoggingSystem.bootstrap { label in LineLog(label: label, level: level) }
        }
        return Logger(label: "perennial")
    }
}
