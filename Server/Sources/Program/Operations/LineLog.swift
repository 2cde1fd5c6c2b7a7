import Foundation
import Ledger
import Logging
import PerennialContract

/// Writes one line to standard error for each log entry: time, level, label, metadata sorted by
/// key, source, message. A server writes a line for each request, so the line is built byte by
/// byte: the handler in the logging library looks up the time zone for each line. The caller does
/// not wait until the line is written: see ``LineQueue``.
struct LineLog: LogHandler {
    /// The maximum size of one metadata value. Longer values are cut.
    static let valueBytesMax = 2_000

    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private let queue: LineQueue

    init(label: String, level: Logger.Level, queue: LineQueue = standardError) {
        self.label = label
        self.queue = queue
        logLevel = level
    }

    /// The queue to standard error. There is only one, because a process has one standard error.
    static let standardError = LineQueue(to: STDERR_FILENO) { dropped in
        let log = LineLog(label: "perennial", level: .warning)
        let event = LogEvent(
            level: .warning, message: "log lines were dropped because standard error was not read",
            metadata: ["lines": .stringConvertible(dropped)], source: "Program", file: #fileID,
            function: #function, line: #line)
        return log.line(event, at: .machine)
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        queue.add(line(event, at: .machine))
    }

    func line(_ event: LogEvent, at now: Instant) -> [UInt8] {
        var line = Line()
        line.add(now.description)
        line.add(" ")
        line.add(event.level.rawValue)
        line.add(" ")
        line.add(label)
        line.add(":")
        for (key, value) in facts(of: event) {
            line.add(" ")
            line.add(key)
            line.add("=")
            let text = if case .string(let text) = value { text } else { value.description }
            line.add(value: text)
        }
        line.add(" [")
        line.add(event.source)
        line.add("] ")
        line.add(event.message.description)
        line.add("\n")
        return line.bytes
    }

    private struct Line {
        private static let usualBytes = 384

        private(set) var bytes: [UInt8] = []

        init() { bytes.reserveCapacity(Self.usualBytes) }

        mutating func add(_ text: String) {
            var text = text
            text.withUTF8 { bytes.append(contentsOf: $0) }
        }

        /// Appends a value that may come from outside. A value is cut so that it cannot fill the
        /// disk. If it could be mistaken for several values, it is put in quotation marks.
        /// Characters that could end the quotation, start a new line, control a terminal or be
        /// invisible are then escaped.
        mutating func add(value text: String) {
            var text = text
            let isPlain = text.withUTF8 { utf8 in
                guard utf8.count <= LineLog.valueBytesMax, !utf8.isEmpty,
                    utf8.allSatisfy(Self.isPlain)
                else { return false }
                bytes.append(contentsOf: utf8)
                return true
            }
            if !isPlain { add(quoted: text) }
        }

        private mutating func add(quoted text: String) {
            bytes.append(UInt8(ascii: "\""))
            var left = LineLog.valueBytesMax
            for scalar in text.unicodeScalars {
                left -= UTF8.width(scalar)
                guard left >= 0 else {
                    add("…")
                    break
                }
                switch scalar {
                case "\"", "\\": add("\\\(scalar)")
                case _ where scalar != " " && VisibleText.isInvisible(scalar):
                    add("\\u{\(String(scalar.value, radix: 16))}")
                default: bytes.append(contentsOf: UTF8.encode(scalar).map { Array($0) } ?? [])
                }
            }
            bytes.append(UInt8(ascii: "\""))
        }

        /// Whether the byte is plain. A value that consists only of plain bytes ends at the next
        /// space, so it needs no quotation marks.
        private static func isPlain(_ byte: UInt8) -> Bool {
            (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"")
                && byte != UInt8(ascii: "=") && byte != UInt8(ascii: "\\")
        }
    }

    /// The entry's own metadata takes precedence over the logger's.
    private func facts(of event: LogEvent) -> [(key: String, value: Logger.MetadataValue)] {
        var all = event.metadata ?? [:]
        // Most entries have only their own metadata, so nothing is copied.
        if let provided = metadataProvider?.get() { all.merge(provided) { own, _ in own } }
        if !metadata.isEmpty { all.merge(metadata) { own, _ in own } }
        if let error = event.error { all["error"] = "\(error)" }
        return all.sorted { $0.key < $1.key }
    }
}
