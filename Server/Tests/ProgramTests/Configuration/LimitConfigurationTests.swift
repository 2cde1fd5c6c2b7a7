import Foundation
import HTTPServer
import Testing

@testable import Program

/// The section `limits` of the configuration.
@Suite struct LimitConfigurationTests {
    private static func read(_ lines: String) throws -> ConfigurationFile {
        try ConfigurationFile(
            "apps:\n  a:\n    bundle_id: x\n" + lines, file: { _ in nil })
    }

    @Test func `if the configuration has no limits section, every limit has its default`() throws {
        #expect(try Self.read("").limits == LimitSettings())
        #expect(try Self.read("limits: {}").limits == LimitSettings())
    }

    @Test func `each limit has a separate key, and off means no limit`() throws {
        let limits = try Self.read(
            """
            limits:
              requests_of_address: 600
              requests_without_key_of_address: 500
              requests_of_app_key: off
              requests_of_secret_key: 60
              waits_of_key: 100
              streams_of_key: 5
              connections_of_address: 300
              half_sent_requests_of_address: off
            """
        ).limits
        #expect(limits.requests.ofAddress == 600 && limits.requests.withoutKeyOfAddress == 500)
        #expect(limits.requests.ofAppKey == 0 && limits.requests.ofSecretKey == 60)
        #expect(limits.waits.waitsOfKeyMax == 100 && limits.streams.streamsOfKeyMax == 5)
        #expect(limits.connections.connectionsOfAddressMax == 300)
        #expect(limits.connections.halfSentRequestsOfAddressMax == 0)
    }

    @Test(arguments: [
        ("limits: [5]", "limits must be a mapping.", "key: value"),
        ("limits: {requests_of_address: 0}", "“0” is not a valid requests_of_address", "or off"),
        ("limits: {requests_of_address: -1}", "“-1” is not a valid requests_of_address", "or off"),
        ("limits: {requests_of_address: many}", "“many” is not a valid requests", "or off"),
        ("limits: {requests_of_app_key: 1.5}", "“1.5” is not a valid requests_of_app_key", "off"),
        ("limits: {requests_of_secret_key: 10000001}", "is not a valid", "from 1 to 10000000"),
        ("limits: {waits_of_key: 0}", "waits_of_key is out of range.", "from 1 to 1000"),
        ("limits: {waits_of_key: off}", "is not a whole number.", "digits"),
        ("limits: {streams_of_key: 101}", "streams_of_key is out of range.", "from 1 to 100"),
        ("limits: {connections_of_address: 0}", "is out of range.", "from 1 to 4096"),
        ("limits: {half_sent_requests_of_address: 5000}", "is not a valid", "from 1 to 4096"),
        ("limits: {requests_of_adress: 5}", "“requests_of_adress” is unknown in limits", "address"),
        ("limit: {}", "“limit” is unknown in the configuration", "limits"),
    ])
    func `a wrong value in the limits is reported with its line and a remedy`(
        lines: String, says: String, remedy: String
    ) throws {
        let failure = try #require(throws: ConfigurationFailure.self) { try Self.read(lines) }
        let problem = try #require(failure.complaints.first { $0.message.contains(says) })
        #expect(problem.line == 4 && problem.remedy.contains(remedy), "\(problem)")
    }

    @Test func `perennial check shows limits that are not the defaults`() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder + "/perennial.yaml"
            let text =
                "apps: {birds: {bundle_id: com.example.birds}}\n"
                + "limits: {requests_of_address: 600}\n"
            try Data(text.utf8).write(to: URL(filePath: path))
            let options = try ProcessOptions.parse([
                "--config", path, "--database", folder + "/p.sqlite",
            ])
            let lines = await CheckReport(options).lines
            let line =
                "ok    limits: requests a minute: 600 for each address, "
                + "60000 for each address without a key, 2400000 for each app key, "
                + "any number for each secret key"
            #expect(lines.contains(line), "\(lines)")
        }
    }
}
