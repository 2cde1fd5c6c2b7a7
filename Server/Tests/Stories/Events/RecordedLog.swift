import Logging
import Synchronization

/// Records the log of a server for a story.
final class RecordedLog: Sendable {
    struct Line: Hashable, Sendable {
        var level: Logger.Level
        var message: String
        var facts: [String: String]
    }

    private let kept = Mutex<[Line]>([])

    /// The messages of level `info` and above, in order.
    var lines: [Line] { kept.withLock { $0 } }

    var logger: Logger { Logger(label: "story") { _ in Writer(book: self) } }

    fileprivate func add(_ line: Line) { kept.withLock { $0.append(line) } }
}

private struct Writer: LogHandler {
    let book: RecordedLog
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(book: RecordedLog) { self.book = book }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        book.add(
            RecordedLog.Line(
                level: event.level, message: event.message.description,
                facts: (event.metadata ?? [:]).mapValues { "\($0)" }))
    }
}
