import AsyncHTTPClient
import Courier
import Eventually
import Foundation
import Ledger
import Testing

@testable import Program

/// Sends correct and wrong deliveries to the receivers in docs/webhook-receivers.md.
@Suite(.serialized) struct WebhookReceiverTests {
    /// A language in which the page has a receiver, with the program that runs it.
    enum Language: String, CaseIterable, Sendable {
        case python
        case typescript

        fileprivate var programs: [String] {
            switch self {
            case .python: ["/usr/bin/python3", "/usr/local/bin/python3"]
            case .typescript: ["/usr/bin/node", "/usr/local/bin/node"]
            }
        }

        fileprivate var program: String? {
            programs.first { FileManager.default.isExecutableFile(atPath: $0) }
        }

        static var present: [Self] { allCases.filter { $0.program != nil } }

        /// The code on the page, without types, because older versions of Node cannot read types.
        fileprivate func code() throws -> String {
            let code = try WebhookReceiverTests.code(of: rawValue)
            guard self == .typescript else { return code }
            return code.replacing(/: (string|boolean|Buffer)\b/, with: "")
        }

        fileprivate var file: String { self == .python ? "receiver.py" : "receiver.mjs" }
    }

    fileprivate static func code(of language: String) throws -> String {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../docs/webhook-receivers.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let blocks = text.matches(of: #/(?m)^```(\w+)\n([\s\S]*?)^```$/#)
        let found = blocks.first { $0.output.1 == language[...] }
        return String(try #require(found, "the page has no \(language)").output.2)
    }

    private static func secret(_ seed: UInt8) throws -> WebhookSecret {
        let bytes = [UInt8](repeating: seed, count: 32)
        return try #require(WebhookSecret("whsec_" + Data(bytes).base64EncodedString()))
    }

    /// Starts a receiver, and returns what the test deliveries find wrong.
    private static func findings(
        _ language: Language, _ change: (String) -> String = { $0 }
    ) async throws -> [WebhookFinding] {
        let code = try language.code()
        let program = try #require(language.program)
        let secret = try secret(1)
        return try await TemporaryFolder.with { folder in
            let file = "\(folder)/\(language.file)"
            try change(code).write(toFile: file, atomically: true, encoding: .utf8)
            let receiver = try StartedReceiver(
                program, file, secrets: [try Self.secret(2), secret])
            defer { receiver.stop() }
            let torture = WebhookTorture(secret: secret, at: .machine, run: 7)
            return try await HTTPClient.withHTTPClient(configuration: .notifications) { http in
                try await torture.findings(
                    of: WebhookReceiverClient(
                        url: "http://127.0.0.1:\(receiver.port)/", http: http))
            }
        }
    }

    // The test is skipped if neither Python nor Node is installed.
    @Test(.enabled(if: !Language.present.isEmpty), arguments: Language.present)
    func `the receivers on the docs page accept correct deliveries and refuse wrong deliveries`(
        language: Language
    ) async throws {
        let wrong = try await Self.findings(language).filter { !$0.isRight }
        #expect(wrong.map(\.text) == [])
    }

    /// Changes that make the Python receiver wrong, and the cases that must detect each change.
    private static let mistakes: [(was: String, becomes: String, found: [String])] = [
        (
            "any(hmac.compare_digest(one, two) for one in given for two in right)", "True",
            [
                "a time that was changed", "a signature by another secret",
                "a body that was changed", "an id that was changed",
                "a signature that was cut off", "an empty signature", "no signature",
                "the right signature under an unknown version",
            ]
        ),
        (" > 300", " > 300000", ["an hour old", "an hour ahead"]),
        ("abs(time.time() - int(at))", "(time.time() - int(at))", ["an hour ahead"]),
        ("> 300", "> 60", ["four minutes old"]),
        (
            "for one in given", "for one in given[:1]",
            ["several signatures, of which one is right"]
        ),
        (
            "hmac.compare_digest(one, two)", "two.startswith(one)",
            ["a signature that was cut off", "an empty signature"]
        ),
        (
            "is_genuine(self.headers.get, body)",
            "is_genuine(self.headers.get, json.dumps(json.loads(body), "
                + "separators=(',', ':')).encode())",
            ["white space in the JSON", "letters that are not ASCII"]
        ),
        (
            "204 if genuine",
            "409 if self.headers['webhook-id'] in (known := globals()"
                + ".setdefault('known', set())) else known.add(self.headers['webhook-id']) or 204 "
                + "if genuine",
            [
                "the same delivery twice", "the same event again, with a new time and signature",
                "the same delivery twice at the same time",
            ]
        ),
        (
            "print(json.loads(body)[\"type\"], flush=True)",
            "{'renewed': 1}[json.loads(body)['type']]", ["an unknown type"]
        ),
        (
            "self.rfile.read(int(self.headers.get(\"content-length\", 0)))",
            "self.rfile.read1(65536)", ["a slow body"]
        ),
        ("not at.isdecimal()", "False", ["a time that is no number"]),
        (
            "if s.startswith(\"v1,\")", "",
            ["the right signature under an unknown version"]
        ),
    ]

    @Test(.enabled(if: Language.present.contains(.python)), arguments: mistakes.indices)
    func `the test deliveries detect each mistake in a receiver`(index: Int) async throws {
        let (was, becomes, cases) = Self.mistakes[index]
        let code = try Self.code(of: "python")
        try #require(code.contains(was), "the page does not contain \(was)")
        let wrong = try await Self.findings(.python) { $0.replacing(was, with: becomes) }
            .filter { !$0.isRight }.map(\.name)
        #expect(Set(wrong).isSuperset(of: cases), "\(becomes): \(wrong)")
        #expect(
            wrong.count
                < WebhookTorture(secret: try Self.secret(1), at: .machine, run: 1)
                .cases.count)
    }

    @Test func `the Swift receiver on the docs page is the code that these tests compile`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "WebhookReceiver.swift")
        #expect(try Self.code(of: "swift") == String(contentsOf: file, encoding: .utf8))
    }

    @Test func `the Swift receiver accepts correct deliveries and refuses wrong deliveries`() throws
    {
        let (secret, other) = (try Self.secret(1), try Self.secret(2))
        let receiver = WebhookReceiver(secrets: [other.text, secret.text])
        let torture = WebhookTorture(
            secret: secret, at: Instant(milliseconds: 1_795_248_000_000), run: 1)
        let now = torture.at.milliseconds / 1000
        for one in torture.cases {
            for delivery in one.deliveries {
                let headers = [
                    WebhookSignature.idHeader: delivery.id,
                    WebhookSignature.timeHeader: delivery.time,
                    WebhookSignature.signatureHeader: delivery.signatures,
                ]
                let found = receiver.isGenuine(
                    { headers[$0] ?? "" }, body: Data(delivery.body),
                    now: Date(timeIntervalSince1970: Double(now)))
                #expect(found == (one.expected == .accepted), "\(one.name)")
            }
        }
    }

    @Test
    func `webhooks torture reports an error if no receiver answers or the secret is wrong`()
        async throws
    {
        let program = try BuiltProgram.path()
        let output = try await Shell.output(
            of: """
                '\(program)' webhooks torture http://127.0.0.1:1/ --secret \
                \(try Self.secret(1).text) 2>&1; echo "status $?"
                '\(program)' webhooks torture http://127.0.0.1:1/ --secret whsec_AAAA 2>&1
                echo "status $?"
                """)
        #expect(output.contains("No receiver answers at http://127.0.0.1:1/"), "\(output)")
        #expect(output.contains("The secret is not whsec_"), "\(output)")
        #expect(output.matches(of: /status 1/).count == 2, "\(output)")
    }
}

/// A receiver in its own process. The first line of its output contains its port.
private struct StartedReceiver {
    let port: Int
    private let process = Process()
    private let output = Pipe()

    struct Silent: Error {}

    init(_ program: String, _ file: String, secrets: [WebhookSecret]) throws {
        process.executableURL = URL(filePath: program)
        process.arguments = [file]
        process.environment = [
            "PORT": "0", "WEBHOOK_SECRETS": secrets.map(\.text).joined(separator: " "),
            "PATH": "/usr/bin:/bin",
        ]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let reader = output.fileHandleForReading
        let line = try process.whileItRuns(waitingFor: "the line with its port") {
            var line = Data()
            while !line.contains(10) {
                let more = reader.availableData
                guard !more.isEmpty else { throw Silent() }
                line += more
            }
            return line
        }
        let text = String(decoding: line.prefix { $0 != 10 }, as: UTF8.self)
        guard let last = text.firstMatch(of: /(\d+)\D*$/), let port = Int(last.1) else {
            throw Silent()
        }
        self.port = port
    }

    /// Does not send SIGTERM, because the thread that started the process may have blocked that
    /// signal.
    func stop() {
        kill(process.processIdentifier, SIGKILL)
        #expect(throws: Never.self) { try process.waitForEnd() }
    }
}
