import Foundation
import Signing
import Testing

@testable import MailClient

/// Sessions with mail servers that do wrong. Sessions with a real one are in `MailServerTests`.
@Suite(.timeLimit(.minutes(5))) struct MailClientTests {
    private static let credentials = MailServer.Credentials(user: "perennial", password: "s3cret")

    private static func mail() throws -> Mail {
        let from = try #require(MailAddress("perennial@birds.example"))
        let to = try ["a@b.example", "c@d.example"].map { try #require(MailAddress($0)) }
        return Mail(id: "alert_1", from: from, to: to, subject: "S", body: ".\nb", seconds: 0)
    }

    /// Any certificate: with it, TLS is required even on this machine.
    private static func root() throws -> [UInt8] {
        let text = Data(try Authority().root.der).base64EncodedString()
        return Array("-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n".utf8)
    }

    private static func failure(
        of server: ScriptedServer, secured: Bool = false, timeout: Duration = MailClient.timeout
    ) async throws -> MailFailure? {
        let place = MailServer(
            host: "127.0.0.1", port: server.port, credentials: credentials,
            extraRoots: secured ? try root() : [])
        let mail = try mail()
        return await #expect(throws: MailFailure.self) {
            _ = try await MailClient(place, timeout: timeout).send(mail)
        }
    }

    /// A friendly server, except for lines that begin with a word.
    private static func server(
        on word: String, says reply: String?
    ) -> ScriptedServer.Script {
        { $0.hasPrefix(word) ? reply : ScriptedServer.friendly($0) }
    }

    @Test func `a mail server on this machine gets mails without TLS, with leading dots doubled`()
        async throws
    {
        try await ScriptedServer.run { server in
            let place = MailServer(
                host: "127.0.0.1", port: server.port, credentials: Self.credentials)
            let refused = try await MailClient(place).send(try Self.mail())
            #expect(refused == [])
            let lines = server.received
            #expect(lines.first == "EHLO [127.0.0.1]" && lines.last == "QUIT")
            #expect(lines.contains("AUTH PLAIN AHBlcmVubmlhbABzM2NyZXQ="))
            #expect(lines.contains("MAIL FROM:<perennial@birds.example>"))
            #expect(lines.contains("RCPT TO:<a@b.example>"))
            #expect(Array(lines.suffix(5)) == ["", "..", "b", ".", "QUIT"], "\(lines)")
        }
    }

    @Test func `without AUTH PLAIN, the client signs in by AUTH LOGIN`() async throws {
        let script: ScriptedServer.Script = { line in
            switch line {
            case _ where line.hasPrefix("EHLO"): "250-mail.example\r\n250 AUTH LOGIN\r\n"
            case "AUTH LOGIN", "cGVyZW5uaWFs": "334 next\r\n"
            case "czNjcmV0": "235 OK\r\n"
            default: ScriptedServer.friendly(line)
            }
        }
        try await ScriptedServer.run(script) { server in
            let place = MailServer(
                host: "127.0.0.1", port: server.port, credentials: Self.credentials)
            try await MailClient(place).check()
            #expect(server.received.suffix(3) == ["cGVyZW5uaWFs", "czNjcmV0", "QUIT"])
        }
    }

    @Test func `a remote mail server without STARTTLS gets neither the password nor the mail`()
        async throws
    {
        let script = Self.server(on: "EHLO", says: "250-mail.example\r\n250 AUTH PLAIN\r\n")
        try await ScriptedServer.run(script) { server in
            let failure = try await Self.failure(of: server, secured: true)
            #expect(failure?.message.contains("STARTTLS") == true)
            #expect(server.received.map { $0.prefix(4) } == ["EHLO"])
        }
    }

    @Test(arguments: ["220 go\r\n250-mail.example\r\n250 AUTH PLAIN\r\n", "220 go\r\n25"])
    func `unencrypted text after the reply to STARTTLS ends the session`(
        reply: String
    ) async throws {
        try await ScriptedServer.run(Self.server(on: "STARTTLS", says: reply)) { server in
            let failure = try await Self.failure(of: server, secured: true)
            #expect(failure?.message.contains("before the encryption") == true, "\(failure as Any)")
            #expect(server.received.map { $0.prefix(4) } == ["EHLO", "STAR"])
        }
    }

    @Test func `if the mail server refuses STARTTLS, the session ends`() async throws {
        let script = Self.server(on: "STARTTLS", says: "454 later\r\n")
        try await ScriptedServer.run(script) { server in
            let failure = try await Self.failure(of: server, secured: true)
            #expect(failure?.message.contains("454 later") == true)
            #expect(server.received.count == 2)
        }
    }

    static let wrongs: [(word: String, reply: String?, says: String)] = [
        ("EHLO", "502 no\r\n", "EHLO: 502 no"), ("AUTH", "535 you said s3cret\r\n", "(535)"),
        ("EHLO", "250 mail.example\r\n", "neither AUTH PLAIN nor AUTH LOGIN"),
        ("MAIL", "550 no\r\n", "the sender: 550 no"), ("RCPT", "550 no\r\n", "every recipient"),
        ("DATA", "451 later\r\n", "DATA: 451 later"), (".", "552 too big\r\n", "the mail: 552"),
        ("DATA", "", "closed the connection"), ("EHLO", "nonsense\r\n", "no reply of SMTP"),
        ("MAIL", "250 OK\r\n250 more\r\n", "ended the session: 250 more"),
    ]

    @Test(arguments: wrongs)
    func `the error of a mail session names the failed command, and never the password`(
        row: (word: String, reply: String?, says: String)
    ) async throws {
        try await ScriptedServer.run(Self.server(on: row.word, says: row.reply)) { server in
            let failure = try await Self.failure(of: server)
            #expect(failure?.message.contains(row.says) == true, "\(failure as Any)")
            #expect(failure?.description.contains("s3cret") == false)
        }
    }

    @Test(arguments: [("", "EHLO"), ("220 hi\r\n", "DATA")])
    func `a mail session with a silent server ends at the time limit`(
        greeting: String, silent: String
    )
        async throws
    {
        try await ScriptedServer.run(
            greeting: greeting, Self.server(on: silent, says: nil)
        ) { server in
            let failure = try await Self.failure(of: server, timeout: .milliseconds(300))
            #expect(failure?.message.contains("did not finish within") == true)
        }
    }

    @Test func `if some recipients are refused, the others get the mail`() async throws {
        let script = Self.server(on: "RCPT TO:<a@", says: "550 a\r\n")
        try await ScriptedServer.run(script) { server in
            let place = MailServer(host: "127.0.0.1", port: server.port)
            let refused = try await MailClient(place).send(try Self.mail())
            #expect(refused == ["550 a"])
        }
    }

    @Test
    func `if no mail server listens at the port, the error says that it refused the connection`()
        async throws
    {
        var port = 0
        try await ScriptedServer.run { port = $0.port }
        let place = MailServer(host: "127.0.0.1", port: port)
        let failure = await #expect(throws: MailFailure.self) {
            try await MailClient(place).check()
        }
        #expect(failure?.message.contains("Connection refused") == true, "\(failure as Any)")
    }
}
