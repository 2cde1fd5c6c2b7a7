import Courier
import Engine
import Foundation
import HTTPServer
import Ledger
import Storage
import Testing

@testable import Program

/// What an alert says, as docs/monitoring.md shows it.
@Suite struct AlertTextTests {
    private static let began = Instant(milliseconds: 1_795_248_000_000)
    private static let page = "https://store.example.com/checks"

    private static func line(
        _ name: String, of app: AppID? = nil, since: Instant = began, _ sentence: String = "",
        remedy: String? = nil
    ) -> AlertMessage.Line {
        let subject = AlertSubject(name, of: app)
        return AlertMessage.Line(
            subject, since: since,
            sentence.isEmpty ? nil : HealthFinding(subject, sentence, remedy: remedy))
    }

    private static func message(
        bad: [AlertMessage.Line] = [], well: [AlertMessage.Line] = [],
        stillBad: [AlertMessage.Line] = []
    ) throws -> AlertMessage {
        try #require(
            AlertMessage(
                bad: bad, well: well, stillBad: stillBad, id: "alert_1", at: began + .seconds(30)))
    }

    private static let silence = line(
        "App Store, production", of: "birds", "It has not responded to the last 12 requests.",
        remedy: "perennial check")
    private static let backups = line("Backups", since: began - .hours(1))

    private static func documented(_ kind: String) throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/monitoring.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let part = try #require(
            text.components(separatedBy: "\n## ").first {
                $0.hasPrefix("Alerts by mail and webhook\n")
            })
        let blocks = part.components(separatedBy: "```\(kind)\n").dropFirst()
        return try #require(blocks.first?.components(separatedBy: "```")[0])
    }

    @Test func `the server posts and mails exactly the examples in docs/monitoring.md`() throws {
        let text = AlertText(
            message: try Self.message(bad: [Self.silence], well: [Self.backups]), page: Self.page)
        let posted = try #require(
            try JSONSerialization.jsonObject(with: Data(try text.json)) as? [String: Any])
        let shown = try #require(
            try JSONSerialization.jsonObject(
                with: Data(try Self.documented("json").utf8)) as? [String: Any])
        #expect(posted.keys.sorted() == shown.keys.sorted())
        for key in ["type", "timestamp"] {
            #expect(posted[key] as? String == shown[key] as? String)
        }
        #expect((posted["data"] as? NSDictionary) == (shown["data"] as? NSDictionary))
        #expect(posted["text"] as? String == "\(text.subject)\n\n\(text.body)")
        let start = try #require(shown["text"] as? String).replacing("…", with: "")
        #expect((posted["text"] as? String)?.hasPrefix(start) == true)
        #expect(text.body == (try Self.documented("text")))
    }

    @Test func `the subject of an alert names a single row, or the number of several rows`() throws
    {
        let rows: [(AlertMessage, String)] = [
            (
                try Self.message(bad: [Self.silence]),
                "Perennial: App Store, production of birds needs attention"
            ),
            (
                try Self.message(bad: [Self.silence, Self.backups]),
                "Perennial: 2 checks need attention"
            ),
            (try Self.message(well: [Self.backups]), "Perennial: Backups is well again"),
            (
                try Self.message(well: [Self.backups, Self.silence]),
                "Perennial: 2 checks are well again"
            ),
            (.test(id: "alert_1", at: Self.began), "Perennial: a test of the alerts"),
        ]
        for (message, subject) in rows {
            #expect(AlertText(message: message, page: nil).subject == subject)
        }
    }

    @Test func `an alert is stored and read back unchanged, and its lists are limited`()
        throws
    {
        let many = (0..<AlertMessage.linesMax + 5).map { Self.line("Row \($0)", "Bad.") }
        let message = try Self.message(bad: many, well: many, stillBad: many)
        let lists = [message.turnedBad, message.turnedWell, message.stillBad]
        #expect(lists.allSatisfy { $0.count == AlertMessage.linesMax })
        let copy = try JSONDecoder().decode(
            AlertMessage.self, from: try JSONEncoder().encode(message))
        #expect(copy == message)
        #expect(AlertMessage(bad: [], well: [], id: "a", at: Self.began) == nil)
    }
}
