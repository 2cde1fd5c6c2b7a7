import Foundation
import Ledger
import Logging
import Testing

@testable import Program

@Suite struct LineLogTests {
    private let now = Instant(milliseconds: 1_700_000_000_123)

    private func line(_ log: LineLog, _ message: Logger.Message, _ facts: Logger.Metadata?)
        -> String
    {
        let event = LogEvent(
            level: .warning, message: message, metadata: facts, source: "Engine", file: "",
            function: "", line: 1)
        return String(decoding: log.line(event, at: now), as: UTF8.self)
    }

    @Test func `a line of the log has the time, level, label, sorted facts, source and message`() {
        var log = LineLog(label: "perennial", level: .info)
        log[metadataKey: "request_id"] = "r1"
        #expect(
            line(log, "answered", ["status": .stringConvertible(200), "method": "GET"])
                == "2023-11-14T22:13:20.123Z warning perennial: method=GET request_id=r1 "
                + "status=200 [Engine] answered\n")
    }

    @Test func `text from outside cannot begin a line, control a terminal or fill the disk`() {
        let log = LineLog(label: "perennial", level: .info)
        let long = String(repeating: "x", count: LineLog.valueBytesMax + 1)
        let text = line(log, "m", ["a": "it\n2026 fake \u{1B}[31m ä", "b": .string(long)])
        #expect(text.contains(#" a="it\u{a}2026 fake \u{1b}[31m ä" b="xx"#))
        #expect(text.contains("x…\" [Engine] m\n") && text.utf8.count < long.utf8.count + 150)
        #expect(text.utf8.count { $0 == UInt8(ascii: "\n") } == 1)
    }

    /// A value, and the form in which the log must write it.
    @Test(
        arguments: [
            ("mira", "mira"), ("", #""""#), ("mira status=500", #""mira status=500""#),
            ("a=b", #""a=b""#), (#"a" owner="ben"#, #""a\" owner=\"ben""#), (#"\"#, #""\\""#),
            (#"\" x=1"#, #""\\\" x=1""#), ("x [Engine] y", #""x [Engine] y""#),
            ("a\u{202E}b", #""a\u{202e}b""#), ("a\u{200B}", #""a\u{200b}""#),
            ("\u{85}", #""\u{85}""#), ("a\u{2028}b", #""a\u{2028}b""#),
            ("a\u{A0}b", #""a\u{a0}b""#), ("Zoë", #""Zoë""#), ("/v1/x", "/v1/x"),
        ])
    func `a value in the log cannot be mistaken for other fields`(value: String, written: String) {
        let log = LineLog(label: "perennial", level: .info)
        let text = line(log, "m", ["owner": .string(value), "status": "200"])
        #expect(text.hasSuffix(": owner=\(written) status=200 [Engine] m\n"), "\(text)")
    }

    @Test func `the metadata of one log entry take precedence over the metadata of all entries`() {
        var log = LineLog(label: "perennial", level: .info)
        log[metadataKey: "a"] = "all"
        log.metadataProvider = .init { ["a": "provided", "b": "provided"] }
        let text = line(log, "m", ["a": "own"])
        #expect(text.contains(" a=own b=provided "))
    }

    /// The lines far exceed the capacity of the pipe and the queue.
    @Test func `logging never waits for a reader, and dropped lines are counted`() throws {
        let pipe = Pipe()
        let queue = LineQueue(to: pipe.fileHandleForWriting.fileDescriptor, bytesMax: 10_000) {
            Array("dropped \($0)\n".utf8)
        }
        let count = 20_000
        for number in 0..<count { queue.add(Array("line number \(number)\n".utf8)) }
        #expect(queue.droppedCount > 0)
        let reading = Thread {
            queue.flush(atMost: 60)
            queue.add(Array("the reader is back\n".utf8))
            queue.flush(atMost: 60)
            try? pipe.fileHandleForWriting.close()
        }
        reading.start()
        let data = try #require(try pipe.fileHandleForReading.readToEnd())
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        let written = lines.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
        let numbers = zip(lines, written).filter { $0.0.hasPrefix("line") }.map(\.1)
        let dropped = zip(lines, written).filter { $0.0.hasPrefix("dropped") }.map(\.1)
        #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
        #expect(numbers.count + dropped.reduce(0, +) == count)
        #expect(dropped.reduce(0, +) == queue.droppedCount)
        #expect(lines.last == "the reader is back")
    }

    @Test func `if the reader has closed the pipe, the program continues`() {
        let pipe = Pipe()
        signal(SIGPIPE, SIG_IGN)
        let queue = LineQueue(to: pipe.fileHandleForWriting.fileDescriptor) { _ in [] }
        try? pipe.fileHandleForReading.close()
        for number in 0..<100 { queue.add(Array("line number \(number)\n".utf8)) }
        queue.flush(atMost: 60)
        #expect(queue.droppedCount == 100)
    }
}
