import Foundation
import Testing

@testable import Program

/// The section `traces` of the configuration.
@Suite struct TraceConfigurationTests {
    private static func read(_ lines: String) throws -> TraceSettings? {
        try ConfigurationFile(
            "apps:\n  a:\n    bundle_id: x\n" + lines, environment: ["COLLECTOR": "Bearer x y\n"],
            file: { $0 == "token" ? Array("Basic abc".utf8) : nil }
        ).traces
    }

    @Test func `if the configuration has no traces section, no traces are sent`() throws {
        #expect(try Self.read("") == nil)
    }

    @Test(arguments: [
        ("https://collector.example:4318", "https://collector.example:4318"),
        ("https://collector.example/", "https://collector.example"),
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318"),
        ("http://localhost:4318", "http://localhost:4318"),
    ])
    func `the endpoint is an address without a path`(text: String, endpoint: String) throws {
        let settings = try #require(try Self.read("traces: {endpoint: \"\(text)\"}"))
        #expect(settings.endpoint == endpoint && settings.share == 1)
        #expect(settings.authorization == nil)
    }

    @Test func `the share of traces and the authorization are read`() throws {
        let address = "endpoint: https://c.example"
        let fromFile = try Self.read(
            "traces: {\(address), percent: 25, authorization_file: token}")
        #expect(fromFile?.share == 0.25 && fromFile?.authorization == "Basic abc")
        #expect(fromFile?.text == "25 % of them to https://c.example")
        let fromVariable = try Self.read("traces: {\(address), authorization_env: COLLECTOR}")
        #expect(fromVariable?.authorization == "Bearer x y")
    }

    @Test(arguments: [
        ("traces: {}", "no valid endpoint", "endpoint: https"),
        ("traces: {endpoint: http://collector.example:4318}", "no valid endpoint", "https"),
        ("traces: {endpoint: https://c.example/v1/traces}", "no valid endpoint", "without a path"),
        ("traces: {endpoint: https://a:b@c.example}", "no valid endpoint", "https"),
        ("traces: {endpoint: \"http://localhost:65536\"}", "no valid endpoint", "https"),
        ("traces: {endpoint: https://c.example, percent: 0}", "out of range", "from 1 to 100"),
        ("traces: {endpoint: https://c.example, share: 1}", "“share” is unknown", "percent"),
        (
            "traces: {endpoint: https://c.example, authorization_env: NONE}",
            "“NONE” contains no valid value", "variable"
        ),
        (
            "traces: {endpoint: https://c.example, authorization_file: none}",
            "“none” contains no valid value", "file"
        ),
    ])
    func `a wrong value in traces is reported with a remedy`(
        lines: String, says: String, remedy: String
    ) throws {
        let failure = try #require(throws: ConfigurationFailure.self) { try Self.read(lines) }
        let problem = try #require(failure.complaints.first { $0.message.contains(says) })
        #expect(problem.line == 4 && problem.remedy.contains(remedy), "\(problem)")
    }
}
