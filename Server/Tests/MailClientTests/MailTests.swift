import Dice
import Foundation
import Testing

@testable import MailClient

/// How a mail is written.
@Suite struct MailTests {
    private static func address(_ text: String) throws -> MailAddress {
        try #require(MailAddress(text), "\(text)")
    }

    private static func mail(subject: String = "Hello", body: String = "Text\n") throws -> Mail {
        Mail(
            id: "alert_1", from: try address("perennial@birds.example"),
            to: [try address("a@birds.example"), try address("b@birds.example")],
            subject: subject, body: body, seconds: 1_795_248_000)
    }

    @Test func `an alert mail has exactly the expected headers`() throws {
        #expect(
            try Self.mail().text
                == """
                Date: Sat, 21 Nov 2026 08:00:00 +0000
                From: perennial@birds.example
                To: a@birds.example,
                 b@birds.example
                Message-ID: <alert_1@birds.example>
                Subject: Hello
                Auto-Submitted: auto-generated
                MIME-Version: 1.0
                Content-Type: text/plain; charset=utf-8
                Content-Transfer-Encoding: quoted-printable

                Text


                """.replacing("\n", with: "\r\n"))
    }

    @Test(arguments: [
        "Hello\r\nBcc: c@birds.example", "Hello\nBcc: c@birds.example", "\r\n\r\nBody",
        "a\u{2028}b",
        "Grüße\r\nBcc: c@birds.example", String(repeating: "ü\r\n", count: 300),
    ])
    func `a line break in a mail's subject cannot add a header`(subject: String) throws {
        let head = try Self.mail(subject: subject).text.components(separatedBy: "\r\n\r\n")[0]
        let unfolded = head.replacing("\r\n ", with: " ").components(separatedBy: "\r\n")
        #expect(unfolded.count == 9 && !unfolded.contains { $0.hasPrefix("Bcc") }, "\(head)")
        #expect(!head.replacing("\r\n", with: "").contains { $0.isNewline })
    }

    @Test(arguments: ["alert\r\nBcc: c@birds.example", "<>@", "é"])
    func `a line break in a mail's id cannot add a header`(id: String) throws {
        var mail = try Self.mail()
        mail.id = id
        #expect(mail.text.components(separatedBy: "\r\n")[4].hasPrefix("Message-ID: <"))
        #expect(!mail.text.contains("Bcc:") && !mail.text.contains("é"))
    }

    static let addresses: [(text: String, isGood: Bool)] = [
        ("ops@birds.example", true), ("a.b+c@mail.birds.example", true), ("root@localhost", true),
        ("x_1@1.example", true), ("", false), ("ops", false), ("@birds.example", false),
        ("ops@", false), ("a@b@c", false), ("ops@birds.example>", false), ("a b@c.example", false),
        ("ops@birds.example\r\nBcc: x@y.example", false), ("ops@bïrds.example", false),
        ("\"ops\"@birds.example", false), (".ops@birds.example", false), ("o..s@b.example", false),
        ("ops@-b.example", false), ("ops@b-.example", false), ("ops@b..example", false),
        ("ops@[127.0.0.1]", false), ("ops@birds.example, x@y.example", false),
        (String(repeating: "o", count: 65) + "@b.example", false),
        ("o@" + String(repeating: "b", count: 64) + ".example", false),
        (
            "o@"
                + Array(repeating: String(repeating: "b", count: 60), count: 5).joined(
                    separator: "."), false
        ),
    ]

    @Test(arguments: addresses)
    func `a mail address is accepted only if it is safe in commands and headers`(
        row: (text: String, isGood: Bool)
    ) {
        #expect((MailAddress(row.text) != nil) == row.isGood)
    }

    // MARK: - Lines

    @Test func `a mail consists of short ASCII lines, and its body decodes to the original text`()
        throws
    {
        var dice = Dice(announcedBy: "MailTests")
        let letters: [Character] = ["a", ".", "=", " ", "\t", "\n", "ü", "€", "🪶", "\r\n", "\0"]
        for _ in 0..<300 {
            let length = Int.random(in: 0...400, using: &dice)
            let body = String((0..<length).map { _ in letters.randomElement(using: &dice) ?? "a" })
            let text = try Self.mail(subject: body, body: body).text
            let lines = text.components(separatedBy: "\r\n")
            #expect(text.utf8.allSatisfy { $0 < 0x80 })
            #expect(lines.allSatisfy { $0.utf8.count <= 78 }, "\(lines)")
            #expect(!lines.joined().contains { $0 == "\n" || $0 == "\r" || $0 == "\r\n" })
            let encoded = MailText.quotedPrintable(body)
            let trailing = encoded.components(separatedBy: "\r\n").filter {
                $0.hasSuffix(" ") || $0.hasSuffix("\t")
            }
            #expect(trailing == [])
            #expect(Self.decoded(encoded) == body.replacing("\r\n", with: "\n"))
        }
    }

    /// Decodes quoted-printable.
    private static func decoded(_ text: String) -> String {
        let joined = text.replacing("=\r\n", with: "").replacing("\r\n", with: "\n")
        var (bytes, rest) = ([UInt8](), Array(joined.utf8)[...])
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "=") else {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            bytes.append(UInt8(digits, radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static let transmissions: [(text: String, sent: String)] = [
        ("a\r\n", "a\r\n."), ("a", "a\r\n."), (".", "..\r\n."), (".\r\n", "..\r\n."),
        ("a\r\n.\r\nb\r\n", "a\r\n..\r\nb\r\n."), ("..a\r\n", "...a\r\n."), ("", "\r\n."),
    ]

    @Test(arguments: transmissions)
    func `a dot at the beginning of a line is doubled, so that it does not end the mail`(
        row: (text: String, sent: String)
    ) {
        #expect(MailText.transmitted(row.text) == row.sent)
    }

    static let headers: [(text: String, written: String)] = [
        ("Perennial: 2 checks", "Perennial: 2 checks"),
        ("Grüße", "=?utf-8?B?R3LDvMOfZQ==?="),
        ("=?utf-8?B?QQ==?=", "=?utf-8?B?PT91dGYtOD9CP1FRPT0/PQ==?="),
        ("", ""),
    ]

    @Test(arguments: headers)
    func `a header with other characters than ASCII is written as encoded words`(
        row: (text: String, written: String)
    ) {
        #expect(MailText.header(row.text) == row.written)
    }
}
