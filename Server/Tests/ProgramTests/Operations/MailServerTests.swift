import Foundation
import MailClient
import Testing

/// Mails to a mail server by others, which reads them with a reader by others.
@Suite(
    .enabled(if: MailServerProgram.python != nil, MailServerProgram.absence),
    .timeLimit(.minutes(10)))
struct MailServerTests {
    private static let body = """
        Zwei Prüfungen brauchen Aufmerksamkeit: “Webhooks” = 🪶
        .
        ..point
        From here  \t
        \(String(repeating: "a long line with ümlauts and = ", count: 20))

        """

    private static func mail(to: [String] = ["ops@birds.example"]) throws -> Mail {
        Mail(
            id: "alert_1", from: try #require(MailAddress("perennial@birds.example")),
            to: try to.map { try #require(MailAddress($0)) },
            subject: "Perennial: Prüfungen \(String(repeating: "🪶ü ", count: 40))end",
            body: body, seconds: 1_795_248_000)
    }

    private static func withCertificate(
        _ body: (_ folder: String, _ root: [UInt8]) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            try await CertificateFiles.make(
                "authority root\nauthority other\npair mail root 7", in: folder)
            let root = try Data(contentsOf: URL(fileURLWithPath: folder + "/root.pem"))
            try await body(folder, Array(root))
        }
    }

    private static func place(
        _ server: MailServerProgram, host: String = "localhost", password: String? = "gr€en",
        roots: [UInt8] = [], immediate: Bool = false
    ) -> MailServer {
        var place = MailServer(
            host: host, port: server.port,
            credentials: password.map { .init(user: "perennial", password: $0) },
            extraRoots: roots)
        place.beginsWithTLS = immediate
        return place
    }

    @Test(arguments: [false, true], ["PLAIN", "LOGIN"])
    func `a mail that is sent by TLS with a password arrives unchanged`(
        immediate: Bool, mechanism: String
    )
        async throws
    {
        try await Self.withCertificate { folder, root in
            let options =
                ["--certificate", folder + "/mail", "--password", "gr€en"]
                + ["--mechanism", mechanism] + (immediate ? ["--immediate"] : [])
            try await MailServerProgram.run(options, in: folder) { server in
                for host in ["localhost", "127.0.0.1"] {
                    let place = Self.place(server, host: host, roots: root, immediate: immediate)
                    let refused = try await MailClient(place).send(
                        try Self.mail(to: ["ops@birds.example", "refused@birds.example"]))
                    #expect(refused == ["550 No such mailbox"])
                }
                let arrivals = try server.mails()
                try #require(arrivals.count == 2)
                let (arrival, mail) = (arrivals[0], try Self.mail())
                // Python's library does not show the TLS of a connection that began with it.
                #expect((arrival.isEncrypted || immediate) && arrival.isSignedIn)
                #expect(arrival.sender == "perennial@birds.example")
                #expect(arrival.recipients == ["ops@birds.example"])
                #expect(arrival.headers["Subject"] == mail.subject)
                #expect(arrival.headers["Auto-Submitted"] == "auto-generated")
                #expect(arrival.headers["Message-ID"] == "<alert_1@birds.example>")
                #expect(arrival.headers["To"] == "ops@birds.example, refused@birds.example")
                #expect(arrival.headers["Date"] == "Sat, 21 Nov 2026 08:00:00 +0000")
                #expect(
                    arrival.body.trimmingCharacters(in: .newlines)
                        == Self.body.trimmingCharacters(in: .newlines))
                #expect(arrival.isASCII && arrival.longestLine <= 78)
            }
        }
    }

    @Test func `with a wrong password or an untrusted certificate, no mail is sent`()
        async throws
    {
        try await Self.withCertificate { folder, root in
            let other = try Data(contentsOf: URL(fileURLWithPath: folder + "/other.pem"))
            let options = ["--certificate", folder + "/mail", "--password", "gr€en"]
            try await MailServerProgram.run(options, in: folder) { server in
                let wrongs: [(place: MailServer, says: String)] = [
                    (
                        Self.place(server, password: "green", roots: root),
                        "refused user and password"
                    ),
                    (Self.place(server, roots: Array(other)), "TLS with the mail server failed"),
                    (Self.place(server, roots: root, immediate: true), "TLS with the mail server"),
                    (Self.place(server, password: nil, roots: root), "did not accept the sender"),
                    // On this machine, STARTTLS is used only with an authority.
                    (Self.place(server), "neither AUTH PLAIN nor AUTH LOGIN"),
                ]
                let mail = try Self.mail()
                for (place, says) in wrongs {
                    let failure = await #expect(throws: MailFailure.self, "\(says)") {
                        _ = try await MailClient(place).send(mail)
                    }
                    let text = failure?.description ?? ""
                    #expect(text.contains(says) && !text.contains("green"), "\(says): \(text)")
                }
                #expect(try server.mails().isEmpty)
            }
        }
    }

    #if os(Linux)
        @Test
        func `if the mail server's certificate is for another name or address, no mail is sent`()
            async throws
        {
            try await Self.withCertificate { folder, root in
                let options = ["--certificate", folder + "/mail", "--host", "127.0.0.2"]
                try await MailServerProgram.run(options, in: folder) { server in
                    let place = Self.place(server, host: "127.0.0.2", password: nil, roots: root)
                    let mail = try Self.mail()
                    let failure = await #expect(throws: MailFailure.self) {
                        _ = try await MailClient(place).send(mail)
                    }
                    let says = "TLS with the mail server failed"
                    #expect(failure?.message.contains(says) == true, "\(failure as Any)")
                    #expect(try server.mails().isEmpty)
                }
            }
        }
    #endif

    @Test func `a mail server on this machine needs no certificate`() async throws {
        try await TemporaryFolder.with { folder in
            try await MailServerProgram.run(in: folder) { server in
                let place = Self.place(server, password: nil)
                try await MailClient(place).check()
                #expect(try server.mails().isEmpty)
                _ = try await MailClient(place).send(try Self.mail())
                #expect(try server.mails().map(\.isEncrypted) == [false])
            }
        }
    }
}
