import Engine
import Foundation
import HTTPServer
import Ledger
import Logging
import Testing

@testable import Program

/// Which certificates and keys in the configuration are refused, and how renewed ones replace
/// them.
@Suite struct TLSConfigurationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var certificate = "good.pem"
        var key = "good.key"
        var says: String
        var line = 6
        var testDescription: String { "\(certificate) \(key)" }
    }

    private static let script = """
        authority root
        authority other
        pair good root 7
        pair second root 7
        cat root.pem good.leaf >reversed.pem
        cat good.leaf other.pem >stranger.pem
        openssl pkey -in good.key -aes128 -passout pass:secret -out locked.key
        openssl ec -in good.key -aes128 -passout pass:secret -out older.key
        openssl x509 -in good.leaf -outform der -out good.der
        openssl pkey -in good.key -outform der -out good.keyder
        printf 'nothing\\n' >empty.pem
        printf -- '-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\\n' >damaged.pem
        head -c 70000 /dev/zero >huge.pem
        """

    @Test(arguments: [
        Case(certificate: "none.pem", says: "none.pem cannot be read."),
        Case(key: "none.key", says: "none.key cannot be read.", line: 7),
        Case(key: "second.key", says: "second.key is not the key of the certificate.", line: 7),
        Case(key: "locked.key", says: "locked.key is protected by a password.", line: 7),
        Case(key: "older.key", says: "older.key is protected by a password.", line: 7),
        Case(key: "root.pem", says: "root.pem contains no private key.", line: 7),
        Case(key: "good.keyder", says: "good.keyder is not in PEM format.", line: 7),
        Case(certificate: "reversed.pem", says: "has its certificates in the wrong order"),
        Case(certificate: "stranger.pem", says: "number 2 did not issue number 1"),
        Case(certificate: "good.der", says: "good.der is not in PEM format."),
        Case(certificate: "second.key", says: "contains a private key and no certificate."),
        Case(certificate: "empty.pem", says: "empty.pem is not in PEM format."),
        Case(certificate: "damaged.pem", says: "contains a certificate that cannot be read"),
        Case(certificate: "huge.pem", says: "has more than 65536 bytes."),
    ])
    func `a certificate or key that cannot be used is reported with its line`(row: Case)
        async throws
    {
        try await TemporaryFolder.with { folder in
            try await CertificateFiles.make(Self.script, in: folder)
            let path = folder + "/perennial.yaml"
            try Data(CertificateFiles.configuration(row.certificate, row.key).utf8)
                .write(to: URL(filePath: path))
            let failure = #expect(throws: ConfigurationFailure.self) {
                _ = try ConfigurationFile(path: path)
            }
            #expect(failure?.complaints.count == 1)
            let problem = try #require(failure?.complaints.first)
            #expect(problem.message.contains(row.says), "\(problem)")
            #expect(problem.line == row.line && !problem.remedy.isEmpty)
        }
    }

    @Test func `the TLS configuration must name a certificate and a key`() throws {
        for lines in ["tls: {}", "tls: {certificate_file: a.pem}", "tls: {private_key_file: ''}"] {
            let text = "apps:\n  a:\n    bundle_id: x\n" + lines
            let failure = #expect(throws: ConfigurationFailure.self) {
                _ = try ConfigurationFile(text) { _ in nil }
            }
            #expect(failure?.complaints.first?.message.contains("tls needs") == true)
        }
    }

    @Test func `RSA keys and the older forms of EC keys are read`() async throws {
        try await TemporaryFolder.with { folder in
            try await CertificateFiles.make(
                """
                authority root
                openssl ecparam -name prime256v1 -genkey -out a.key
                openssl req -x509 -new -key a.key -subj /CN=a -days 3 -out a.pem
                openssl req -x509 -newkey rsa:2048 -nodes -keyout b.key -subj /CN=b -days 3 \\
                    -out b.pem
                openssl rsa -in b.key -traditional -out c.key
                cp b.pem c.pem
                """, in: folder)
            for name in ["a", "b", "c"] {
                let path = folder + "/perennial.yaml"
                try Data(CertificateFiles.configuration("\(name).pem", "\(name).key").utf8)
                    .write(to: URL(filePath: path))
                #expect(try ConfigurationFile(path: path).tls != nil, "\(name)")
            }
        }
    }

    @Test func `a certificate without its issuer causes a warning`() async throws {
        try await TemporaryFolder.with { folder in
            try await CertificateFiles.make("authority root; pair good root 7", in: folder)
            for (file, isWarned) in [("good.leaf", true), ("good.pem", false)] {
                let path = folder + "/perennial.yaml"
                try Data(CertificateFiles.configuration(file, "good.key").utf8)
                    .write(to: URL(filePath: path))
                let warnings = try ConfigurationFile(path: path).warnings.map(\.message)
                #expect(warnings.contains { $0.contains("only the server's own") } == isWarned)
            }
        }
    }

    @Test func `perennial check says when a certificate ends, and reports an expired certificate`()
        async throws
    {
        try await TemporaryFolder.with { folder in
            try await CertificateFiles.make(
                "authority root; pair good root 90; pair soon root 2; pair late root -1",
                in: folder)
            for (name, begins) in [
                ("good", "ok    TLS: a certificate for localhost, 127.0.0.1, until "),
                ("soon", "note  soon.pem expires soon."),
                ("late", "DO    TLS: late.pem expired at"),
            ] {
                let path = folder + "/perennial.yaml"
                try Data(CertificateFiles.configuration("\(name).pem", "\(name).key").utf8)
                    .write(to: URL(filePath: path))
                let report = await CheckReport(
                    try ProcessOptions.parse([
                        "--config", path, "--database", folder + "/p.sqlite",
                    ]))
                #expect(report.lines.contains { $0.hasPrefix(begins) }, "\(report.lines)")
            }
        }
    }

    // MARK: - Changed files

    /// Runs the body with a certificate in force, whose files are `live.pem` and `live.key`.
    private static func withReload(
        _ body: (_ folder: String, CertificateReload, LineCollector) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            try await CertificateFiles.make(
                script + "\npair late root -1\ncp good.pem live.pem; cp good.key live.key",
                in: folder)
            let path = folder + "/perennial.yaml"
            try Data(CertificateFiles.configuration("live.pem", "live.key").utf8)
                .write(to: URL(filePath: path))
            let log = LineCollector()
            let settings = try #require(try ConfigurationFile(path: path).tls)
            try await body(
                folder,
                CertificateReload(
                    settings, in: ConfigurationFolder(of: path), now: { .machine },
                    logger: Logger(label: "test") { _ in log.handler }), log)
        }
    }

    @Test
    func `a renewed certificate is in force after the next check of its files, and is logged once`()
        async throws
    {
        try await Self.withReload { folder, reload, log in
            let former = reload.live.current
            reload.reloadIfChanged()
            #expect(reload.live.current == former && !log.text.contains("in force"))
            try await CertificateFiles.make(
                "cp second.pem live.pem; cp second.key live.key", in: folder)
            reload.reloadIfChanged()
            let renewed = reload.live.current
            #expect(renewed != former)
            reload.reloadIfChanged()
            #expect(log.text.matches(of: /a changed certificate is in force/).count == 1)
        }
    }

    @Test func `if a new configuration names an expired certificate, the former certificate stays`()
        async throws
    {
        try await Self.withReload { folder, reload, log in
            let former = reload.live.current
            let path = folder + "/expired.yaml"
            try Data(CertificateFiles.configuration("late.pem", "late.key").utf8)
                .write(to: URL(filePath: path))
            reload.replace(try #require(try ConfigurationFile(path: path).tls))
            for _ in 1...3 { reload.reloadIfChanged() }
            #expect(reload.live.current == former)
            #expect(log.text.matches(of: /the changed certificate is refused/).count == 1)
        }
    }

    @Test(arguments: [
        ("cp second.key live.key", "live.key is not the key of the certificate."),
        ("cp late.pem live.pem; cp late.key live.key", "live.pem expired at"),
        ("rm live.key", "live.key cannot be read."),
        ("printf x >live.pem", "live.pem is not in PEM format."),
    ])
    func `if a new certificate cannot be used, it is refused, and the former one stays in force`(
        change: String, says: String
    ) async throws {
        try await Self.withReload { folder, reload, log in
            let former = reload.live.current
            try await CertificateFiles.make(change, in: folder)
            reload.reloadIfChanged()
            #expect(!log.text.contains("refused"), "It may be half of a change.")
            for _ in 1...3 { reload.reloadIfChanged() }
            #expect(reload.live.current == former)
            #expect(log.text.matches(of: /the changed certificate is refused/).count == 1)
            #expect(log.text.contains(says), "\(log.text)")
            try await CertificateFiles.make(
                "cp second.pem live.pem; cp second.key live.key", in: folder)
            reload.reloadIfChanged()
            #expect(reload.live.current != former)
        }
    }
}
