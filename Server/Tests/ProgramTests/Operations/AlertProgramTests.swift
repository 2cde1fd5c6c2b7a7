import Eventually
import Foundation
import Testing

@testable import Program

/// The built program with the configuration of docs/monitoring.md, a mail server by others, and a
/// receiver of webhooks.
@Suite(
    .enabled(if: MailServerProgram.python != nil, MailServerProgram.absence),
    .timeLimit(.minutes(10)))
struct AlertProgramTests {
    private static let secret = "whsec_" + String(repeating: "B", count: 32)
    private static let environment = "SMTP_PASSWORD=gr€en ALERT_SECRET=\(secret)"

    /// The section `alerts` of the page, with the addresses of a test.
    private static func section(_ mail: Int, _ webhook: Int) throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/monitoring.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        let block = try #require(page.firstMatch(of: #/```yaml\n(alerts:[\s\S]*?)```/#)).output.1
        let changes = [
            ("smtp.example.com:587", "localhost:\(mail)\n    ca_file: root.pem"),
            (
                "https://hooks.example.com/",
                "http://localhost:\(webhook)/"
            ), ("    secret_env", "    allow_private: [localhost]\n    secret_env"),
        ]
        return try changes.reduce(String(block)) { text, change in
            try #require(text.contains(change.0), "\(change.0)")
            return text.replacing(change.0, with: change.1)
        }
    }

    private static func write(_ alerts: String, in folder: String) throws {
        let text = """
            apps:
              birds:
                bundle_id: com.example.birds
                app_apple_id: 1
            dashboard:
              url: https://store.example.com
            \(alerts)
            """
        try Data(text.utf8).write(to: URL(filePath: folder + "/perennial.yaml"))
    }

    private static func withReceivers(
        _ body: (String, MailServerProgram, MailServerProgram) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            try await CertificateFiles.make("authority root\npair mail root 7", in: folder)
            let options = ["--certificate", folder + "/mail", "--password", "gr€en"]
            try await MailServerProgram.run(options, in: folder) { mails in
                try await MailServerProgram.receive(in: folder) { posts in
                    try write(try section(mails.port, posts.port), in: folder)
                    try await body(folder, mails, posts)
                }
            }
        }
    }

    private static func perennial(_ arguments: String, in folder: String) async throws -> String {
        try await Shell.output(
            of: "cd '\(folder)'; \(environment) '\(try BuiltProgram.path())' \(arguments) 2>&1; "
                + "echo \"exit code $?\"")
    }

    private static func requireGenuine(_ post: MailServerProgram.Post) {
        let receiver = WebhookReceiver(secrets: [secret])
        #expect(receiver.isGenuine({ post.headers[$0] ?? "" }, body: Data(post.body.utf8)))
    }

    @Test func `perennial alerts test sends a mail and a signed webhook, but check sends nothing`()
        async throws
    {
        try await Self.withReceivers { folder, mails, posts in
            let labels = [
                "mail to 1 address by localhost:\(mails.port)",
                "webhook to http://localhost:\(posts.port)",
            ]
            let checked = try await Self.perennial("check", in: folder)
            #expect(checked.contains("ok    alerts: \(labels[0]), \(labels[1])"), "\(checked)")
            #expect(try mails.mails().isEmpty && posts.posts().isEmpty)
            let said = try await Self.perennial("alerts test", in: folder)
            #expect(said.hasSuffix("exit code 0\n"), "\(said)")
            for label in labels { #expect(said.contains("ok    \(label)"), "\(said)") }
            let (mail, post) = (try mails.mails(), try posts.posts())
            try #require(mail.count == 1 && post.count == 1)
            #expect(mail[0].isEncrypted && mail[0].isSignedIn)
            #expect(mail[0].headers["Subject"] == "Perennial: a test of the alerts")
            Self.requireGenuine(post[0])
            #expect(post[0].body.contains(#""type":"health.test""#))
            let text = said + checked + mail[0].body + post[0].body
            #expect(!text.contains("gr€en") && !text.contains(Self.secret))
        }
    }

    @Test func `perennial alerts test says which channel fails, and why`() async throws {
        try await Self.withReceivers { folder, mails, posts in
            let wrong = try Self.section(mails.port, posts.port).replacing(
                "root.pem", with: "x.pem")
            try await CertificateFiles.make("authority x", in: folder)
            try Self.write(wrong, in: folder)
            let said = try await Self.perennial("alerts test", in: folder)
            #expect(said.contains("DO    mail to 1 address") && said.contains("TLS with the mail"))
            #expect(said.contains("ok    webhook to") && said.hasSuffix("exit code 1\n"))
            let checked = try await Self.perennial("check", in: folder)
            #expect(checked.contains("DO    alerts by mail: TLS with the mail server failed"))
            try Self.write("", in: folder)
            let absent = try await Self.perennial("alerts test", in: folder)
            #expect(absent.contains("has no alerts.") && absent.hasSuffix("exit code 1\n"))
        }
    }

    @Test func `when a row of Health needs attention, the server sends a mail and a webhook`()
        async throws
    {
        try await Self.withReceivers { folder, mails, posts in
            let arguments = "--config perennial.yaml --database p.sqlite"
            _ = try await Self.perennial(
                "keys create --app birds --kind app \(arguments)", in: folder)
            let server = Process()
            server.executableURL = URL(fileURLWithPath: "/bin/bash")
            server.arguments = [
                "-c",
                "cd '\(folder)'; \(Self.environment) exec '\(try BuiltProgram.path())' serve "
                    + "\(arguments) --port 0 2>log",
            ]
            try server.run()
            defer { server.terminate() }
            try await eventually("both channels report the row") {
                try !server.isRunning || (!mails.mails().isEmpty && !posts.posts().isEmpty)
            }
            let (mail, post) = (try mails.mails(), try posts.posts())
            try #require(mail.count == 1 && post.count == 1)
            #expect(mail[0].headers["Subject"] == "Perennial: Products of birds needs attention")
            #expect(mail[0].body.contains("None is listed, so no purchase gives access."))
            #expect(mail[0].body.contains("Health: https://store.example.com/checks"))
            Self.requireGenuine(post[0])
            #expect(post[0].headers["content-type"] == "application/json")
            #expect(post[0].body.contains(#""check":"Products""#))
            let id = post[0].headers["webhook-id"] ?? ""
            #expect(mail[0].headers["Message-ID"] == "<\(id)@birds.example>")
            server.terminate()
            #expect(try await server.waitForEnd() == 0)
        }
    }
}
