import Testing

@testable import MailClient

/// How the replies of a mail server are read.
@Suite struct SMTPReplyTests {
    private static func replies(to text: String) throws(MailFailure) -> [SMTPReply] {
        var (parser, replies) = (SMTPReplyParser(), [SMTPReply]())
        // Byte by byte, as a network could deliver them.
        for byte in text.utf8 {
            parser.append([byte])
            while let reply = try parser.next() { replies.append(reply) }
        }
        return replies
    }

    @Test func `SMTP replies of one or several lines are read`() throws {
        let text =
            "220 mail.example\r\n250-mail.example\r\n250-auth=plain\r\n250 STARTTLS\r\n354\r\n"
        let replies = try Self.replies(to: text)
        #expect(replies.map(\.code) == [220, 250, 354])
        try #require(replies.count == 3)
        #expect(replies[1].extensions == [["AUTH", "PLAIN"], ["STARTTLS"]])
        #expect(replies[0].text == "220 mail.example" && replies[2].lines == [""])
    }

    @Test(arguments: [
        "HTTP/1.1 400 Bad Request\r\n", "2x0 a\r\n", "25\r\n", "\r\n", "250-a\r\n251 b\r\n",
        "٢٢٠ a\r\n", String(repeating: "a", count: SMTPReplyParser.lineBytesMax + 1),
        "250 " + String(repeating: "a", count: SMTPReplyParser.lineBytesMax) + "\r\n",
        String(repeating: "250-a\r\n", count: SMTPReplyParser.linesMax + 1),
    ])
    func `a text that is not an SMTP reply, or is too long, is a failure`(text: String) {
        #expect(throws: MailFailure.self) { try Self.replies(to: text) }
    }

    @Test func `a message quotes only the printable beginning of a mail server's reply`() {
        let reply = SMTPReply(
            code: 550, lines: ["a\u{1B}[31mé", String(repeating: "b", count: 900)])
        #expect(reply.text.hasPrefix("550 a?[31m? bb"))
        #expect(reply.text.count == SMTPReply.quotedCharactersMax)
    }
}
