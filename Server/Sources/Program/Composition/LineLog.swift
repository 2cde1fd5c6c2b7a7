import Foundation
import Ledger
import Logging

/// One line on standard error for each entry: when, how grave, who, the facts in the order of their
/// names, where from, what. A server writes one for each request, so it is put together byte by
/// byte; the handler that comes with the library asks for the time zone each time. Whoever logs
/// does not wait until it is written: see ``LineQueue``.
struct LineLog: LogHandler {
    /// Of one fact; what is longer is cut.
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

    /// A process has one standard error, so there is one queue to it.
    static let standardError = LineQueue(to: STDERR_FILENO) { dropped in
        let log = LineLog(label: "perennial", level: .warning)
        let event = LogEvent(
            level: .warning, message: "log lines were dropped: nobody has read standard error",
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

        /// What others may have written: it begins no line of its own, speaks to no terminal, and
        /// fills no disk.
        mutating func add(value text: String) {
            var text = text
            text.withUTF8 { utf8 in
                guard utf8.count > LineLog.valueBytesMax || utf8.contains(where: Self.isControl)
                else { return bytes.append(contentsOf: utf8) }
                for byte in utf8.prefix(LineLog.valueBytesMax) {
                    if Self.isControl(byte) {
                        bytes.append(contentsOf: "\\x".utf8)
                        bytes.append(Self.digits[Int(byte >> 4)])
                        bytes.append(Self.digits[Int(byte & 15)])
                    } else {
                        bytes.append(byte)
                    }
                }
                if utf8.count > LineLog.valueBytesMax { bytes.append(contentsOf: "…".utf8) }
            }
        }

        private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

        private static let digits = Array("0123456789abcdef".utf8)
    }

    /// What is said of one entry counts more than what is said of all.
    private func facts(of event: LogEvent) -> [(key: String, value: Logger.MetadataValue)] {
        var all = event.metadata ?? [:]
        // Most entries say all themselves: then nothing is copied.
        if let provided = metadataProvider?.get() { all.merge(provided) { own, _ in own } }
        if !metadata.isEmpty { all.merge(metadata) { own, _ in own } }
        if let error = event.error { all["error"] = "\(error)" }
        return all.sorted { $0.key < $1.key }
    }
}
