import Courier
import Foundation
import MailClient
import Testing

@testable import Program

/// The section `alerts` of a configuration.
@Suite struct AlertConfigurationTests {
    private static let secret = "whsec_" + String(repeating: "A", count: 32)
    private static let environment = [
        "ALERT_SECRET": secret, "ALERT_URL": "https://chat.example/hooks/T0K3N", "EMPTY": " ",
        "SMTP_PASSWORD": "s3cret", "WRONG": "whsec_A",
    ]
    private static let files = [
        "ca.pem": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
        "url": "https://chat.example/hooks/T0K3N\n", "nothing": "",
    ]

    private static func read(_ alerts: String) throws -> ConfigurationFile {
        let app = "apps:\n  birds:\n    bundle_id: com.example.birds\n"
        return try ConfigurationFile(app + "alerts:\n" + alerts, environment: environment) { name in
            files[name].map { Array($0.utf8) }
        }
    }

    private static let mail = """
          mail:
            server: smtp.example:587
            user: perennial
            password_env: SMTP_PASSWORD
            from: perennial@birds.example
            to: [ops@birds.example, on-call@birds.example]

        """

    @Test func `the alert settings for mail and webhook are read, with secrets from variables`()
        throws
    {
        let text = "  webhook:\n    url: https://hooks.example/a\n    secret_env: ALERT_SECRET\n"
        let alerts = try #require(try Self.read(text + Self.mail).alerts)
        #expect(alerts.channels == [.mail, .webhook])
        #expect(alerts.webhook?.url == "https://hooks.example/a")
        #expect(alerts.webhook?.secrets == [try #require(WebhookSecret(Self.secret))])
        let server = MailServer(
            host: "smtp.example", port: 587,
            credentials: .init(user: "perennial", password: "s3cret"))
        #expect(alerts.mail?.server == server && alerts.mail?.to.count == 2)
        #expect(!"\(alerts)".contains("s3cret"))
    }

    @Test(arguments: ["    url_env: ALERT_URL\n", "    url_file: url\n"])
    func `the address of an alert webhook may come from a variable or a file`(line: String) throws {
        let alerts = try Self.read("  webhook:\n" + line).alerts
        #expect(alerts?.webhook?.url == "https://chat.example/hooks/T0K3N")
        #expect(alerts?.webhook?.secrets == [] && alerts?.channels == [.webhook])
    }

    static let servers: [(text: String, host: String, port: Int, isSecure: Bool)] = [
        ("smtp.example:465", "smtp.example", 465, true),
        ("smtp.example", "smtp.example", 587, false),
        ("127.0.0.1:25", "127.0.0.1", 25, false), ("'[::1]:2525'", "::1", 2525, false),
        ("'[::1]'", "::1", 587, false),
    ]

    @Test(arguments: servers)
    func `TLS begins with the connection at port 465, and by STARTTLS at other ports`(
        row: (text: String, host: String, port: Int, isSecure: Bool)
    ) throws {
        let text = "  mail: {server: \(row.text), from: a@b.example, to: c@d.example}\n"
        let server = try #require(try Self.read(text).alerts?.mail?.server)
        #expect(server.host == row.host && server.port == row.port)
        #expect(server.beginsWithTLS == row.isSecure && server.credentials == nil)
    }

    private static func webhook(_ lines: String) -> String {
        "  webhook:\n    url: https://hooks.example\n    \(lines)\n"
    }

    private static func changed(_ line: String, _ new: String) -> String {
        mail.replacing(line, with: new)
    }

    static let wrongs: [(text: String, says: String, line: Int)] = [
        ("  {}\n", "neither webhook nor mail", 5),
        ("  webhok: {}\n", "“webhok” is unknown in alerts", 5),
        ("  webhook: {}\n", "no valid url", 5),
        ("  webhook: {url: http://hooks.example}\n", "no valid url", 5),
        ("  webhook: {url: ftp://hooks.example}\n", "no valid url", 5),
        ("  webhook: {url_env: NONE}\n", "contains no url", 5),
        (webhook("secret_env: NONE"), "contains no secret", 7),
        (webhook("secret_env: EMPTY"), "contains no secret", 7),
        (webhook("secret_env: WRONG"), "no valid secret", 7),
        (webhook("secret: whsec_A"), "“secret” is unknown in webhook", 7),
        (webhook("secret_env: ALERT_SECRET\n    secret_file: url"), "both set", 8),
        (changed("smtp.example:587", "smtp.example:0"), "no valid server", 6),
        (changed("smtp.example:587", "smtp.example:mail"), "no valid server", 6),
        (changed("smtp.example:587", "'smtp:example:25'"), "no valid server", 6),
        (changed("smtp.example:587", "'a b:25'"), "no valid server", 6),
        (changed("    user: perennial\n", ""), "both user and password", 7),
        (changed("    password_env: SMTP_PASSWORD\n", ""), "both user and password", 7),
        (changed("password_env: SMTP_PASSWORD", "password_file: nothing"), "no password", 8),
        (changed("from: perennial@birds.example", "from: perennial"), "no valid from", 9),
        (changed("    from: perennial@birds.example\n", ""), "no valid from", 6),
        (changed("[ops@birds.example, on-call@birds.example]", "[]"), "no valid to", 10),
        (changed("ops@birds.example", "'ops@birds.example\\r'"), "no valid to", 10),
        (mail + "    ca_file: none.pem\n", "names no certificate", 11),
        (mail + "    ca_file: url\n", "names no certificate", 11),
    ]

    @Test(arguments: wrongs)
    func `each mistake in the alert settings is reported with its line, without a secret`(
        row: (text: String, says: String, line: Int)
    ) throws {
        let failure = #expect(throws: ConfigurationFailure.self) { _ = try Self.read(row.text) }
        let problem = failure?.complaints.first { $0.message.contains(row.says) }
        #expect(problem != nil, "\(failure as Any)")
        #expect(problem?.line == row.line && problem?.remedy.isEmpty == false, "\(problem as Any)")
        #expect(!"\(failure as Any)".contains("s3cret") && !"\(failure as Any)".contains("T0K3N"))
    }
}
