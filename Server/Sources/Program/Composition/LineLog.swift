import Foundation
import Ledger
import Logging

/// One line on standard error for each entry: when, how grave, who, the facts in the order of their
/// names, where from, what. A server writes one for each request, so it is put together byte by
/// byte and written at once; the handler that comes with the library asks for the time zone each
/// time.
struct LineLog: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    private let label: String

    init(label: String, level: Logger.Level) {
        self.label = label
        logLevel = level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        write(line(event, at: .machine))
    }

    func line(_ event: LogEvent, at now: Instant) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(Self.usualBytes)
        func add(_ texts: String...) { for text in texts { line.append(contentsOf: text.utf8) } }
        add(now.description, " ", event.level.rawValue, " ", label, ":")
        for (key, value) in facts(of: event) {
            add(" ", key, "=")
            if case .string(let text) = value { add(text) } else { add(value.description) }
        }
        add(" [", event.source, "] ", event.message.description, "\n")
        return line
    }

    private static let usualBytes = 384

    /// What is said of one entry counts more than what is said of all.
    private func facts(of event: LogEvent) -> [(key: String, value: Logger.MetadataValue)] {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        if let error = event.error { all["error"] = "\(error)" }
        return all.sorted { $0.key < $1.key }
    }

    /// In one call, so that the lines of several threads do not mix. Where nobody reads any more
    /// the line is lost: a log must not end the program.
    private func write(_ line: [UInt8]) {
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(2, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return
            }
        }
    }
}
