internal import Foundation

#if canImport(os)
    internal import os
#endif

/// The log of the SDK. Documents, tokens and ids of customers are never passed to it.
struct Log: Sendable {
    private let handler: Perennial.LogHandler

    init(_ handler: Perennial.LogHandler?) { self.handler = handler ?? .system }

    func debug(_ category: String, _ message: @autoclosure () -> String) {
        write(.debug, category, message)
    }

    func info(_ category: String, _ message: @autoclosure () -> String) {
        write(.info, category, message)
    }

    func notice(_ category: String, _ message: @autoclosure () -> String) {
        write(.notice, category, message)
    }

    func error(_ category: String, _ message: @autoclosure () -> String) {
        write(.error, category, message)
    }

    private func write(
        _ level: Perennial.LogHandler.Level, _ category: String, _ message: () -> String
    ) {
        guard level >= handler.level else { return }
        handler.write(level, category, message())
    }
}

extension Perennial.LogHandler {
    /// The handler that writes to the system's log or, on Linux, to standard error.
    static var system: Self {
        #if canImport(os)
            Self(level: .debug) { level, category, message in
                let type: OSLogType =
                    level == .error ? .error : level == .notice ? .default : .debug
                Logger(subsystem: "perennial", category: category)
                    .log(level: type, "\(message, privacy: .public)")
            }
        #else
            Self(level: .notice) { _, category, message in
                FileHandle.standardError.write(Data("perennial [\(category)] \(message)\n".utf8))
            }
        #endif
    }
}
