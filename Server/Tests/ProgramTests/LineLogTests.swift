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

    @Test func `a line says when, how grave, who, the facts by name, where from and what`() {
        var log = LineLog(label: "perennial", level: .info)
        log[metadataKey: "request_id"] = "r1"
        #expect(
            line(log, "answered", ["status": .stringConvertible(200), "method": "GET"])
                == "2023-11-14T22:13:20.123Z warning perennial: method=GET request_id=r1 "
                + "status=200 [Engine] answered\n")
    }

    @Test func `what others wrote begins no line, speaks to no terminal and fills no disk`() {
        let log = LineLog(label: "perennial", level: .info)
        let long = String(repeating: "x", count: LineLog.valueBytesMax + 1)
        let text = line(log, "m", ["a": "it\n2026 fake \u{1B}[31m ä", "b": .string(long)])
        #expect(text.contains(#" a=it\x0a2026 fake \x1b[31m ä b=xx"#))
        #expect(text.contains("x… [Engine] m\n") && text.utf8.count < long.utf8.count + 150)
        #expect(text.utf8.count { $0 == UInt8(ascii: "\n") } == 1)
    }

    @Test func `what is said of one entry counts more than what is said of all`() {
        var log = LineLog(label: "perennial", level: .info)
        log[metadataKey: "a"] = "all"
        log.metadataProvider = .init { ["a": "provided", "b": "provided"] }
        let text = line(log, "m", ["a": "own"])
        #expect(text.contains(" a=own b=provided "))
    }
}
