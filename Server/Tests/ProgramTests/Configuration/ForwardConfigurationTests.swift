import Engine
import Foundation
import Ledger
import Testing

@testable import Program

@Suite struct ForwardConfigurationTests {
    private func rules(_ lines: String) throws(ConfigurationFailure) -> ForwardRules {
        let text = """
            apps:
              birds:
                bundle_id: com.example.birds
                app_apple_id: 1234567890
                products: {pro: [pro]}
            \(lines)
            """
        let file = try ConfigurationFile(text) { _ in nil }
        return file.apps.first?.settings.forwards ?? .none
    }

    @Test func `by default, no notification is forwarded`() throws {
        #expect(try rules("") == .none)
        #expect(ForwardRules.none.policy == .own)
    }

    @Test func `forwarding addresses have environments, and are shown without their query`()
        throws
    {
        let found = try rules(
            """
                forward:
                  - https://old.example.com/apple
                  - url: https://staging.example.com:8443/a?key=secret
                    environments: [sandbox]
                  - {url: "http://localhost:9000/a", environments: production}
                forward_policy: any
            """)
        #expect(found.policy == .any)
        #expect(
            found.targets == [
                ForwardTarget(
                    name: "https://old.example.com/apple", url: "https://old.example.com/apple",
                    environments: [.production, .sandbox]),
                ForwardTarget(
                    name: "https://staging.example.com:8443/a",
                    url: "https://staging.example.com:8443/a?key=secret",
                    environments: [.sandbox]),
                ForwardTarget(
                    name: "http://localhost:9000/a", url: "http://localhost:9000/a",
                    environments: [.production]),
            ])
    }

    /// Each row: an address, and whether notifications may be forwarded to it.
    static let addresses: [(url: String, isGood: Bool)] = [
        ("https://old.example.com", true), ("https://10.0.0.7/apple", true),
        ("http://127.0.0.1:9000/a", true), ("http://[::1]:9000/a", true),
        ("http://old.example.com/apple", false), ("http://169.254.169.254/latest", false),
        ("http://localhost.example.com/", false), ("https://anna:secret@old.example.com/", false),
        ("https://old.example.com/#here", false), ("ftp://old.example.com/", false),
        ("file:///etc/passwd", false), ("old.example.com", false), ("https://", false),
        ("https://old.example.com/ä", false), ("", false),
        ("https://old.example.com:65535/", true), ("https://[fd00::1]:8443/", true),
        ("https://old.example.com:65536/", false), ("https://old.example.com:0/", false),
        ("https://old.example.com:/", false), ("https://old.example.com:8o/", false),
        ("https://old.example.com:99999999999999999999/", false), ("https://%00/", false),
    ]

    @Test(arguments: addresses.indices)
    func `notifications are forwarded without TLS only within this machine`(number: Int) {
        let (url, isGood) = Self.addresses[number]
        #expect((ConfigurationReader.name(of: url) != nil) == isGood, "\(url)")
    }

    @Test(arguments: [
        ("    forward: https://old.example.com/", "must be a list"),
        ("    forward: []", "must be a list"),
        ("    forward: [http://old.example.com/]", "is not a valid forwarding URL"),
        ("    forward: [{environments: sandbox}]", "has no url"),
        (
            "    forward: [{url: https://a.example/, environments: [moon]}]",
            "The environment is unknown"
        ),
        ("    forward: [https://a.example/, \"https://a.example/?b\"]", "is listed twice"),
        ("    forward: [https://a.example/]\n    forward_policy: some", "is not a forward_policy"),
        ("    forward_policy: all", "no forwarding address"),
    ])
    func `a mistake in the forwarding settings is reported with its line`(
        lines: String, expected: String
    ) {
        let failure = #expect(throws: ConfigurationFailure.self) { try rules(lines) }
        let complaint = failure?.complaints.first
        #expect(complaint?.message.contains(expected) == true, "\(complaint?.message ?? "")")
        #expect((complaint?.line ?? 0) >= 6)
    }

    @Test
    func `the pauses between forwarding attempts double up to six hours, and add up to a week`() {
        let pauses = (1...ForwardingSettings.attemptsMax).map {
            ForwardingSettings.pause(after: $0)
        }
        #expect(pauses.prefix(3) == [.seconds(15), .seconds(30), .seconds(60)])
        #expect(pauses.last == .some(nil) && pauses.dropLast().allSatisfy { $0 != nil })
        let whole = pauses.compactMap { $0 }.reduce(.zero, +)
        // The App Store's own attempts take 157 hours in total.
        #expect(whole > .hours(150) && whole < .hours(170))
        #expect(ForwardingSettings.lease > ForwardSender.timeout)
    }
}
