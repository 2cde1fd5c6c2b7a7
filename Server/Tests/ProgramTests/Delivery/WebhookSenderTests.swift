import Courier
import Dashboard
import Engine
import Foundation
import Testing

@testable import Program

@Suite struct WebhookSenderTests {
    @Test func `the documented time limit of a webhook receiver equals the one in the code`() {
        #expect(Courier.timeout == .seconds(WebhookFigures.answerSeconds))
    }

    /// Each row: the host of a webhook, and whether plain HTTP to it is allowed.
    @Test(arguments: [
        ("localhost", true), ("LOCALHOST", true), ("127.0.0.1", true), ("[::1]", true),
        ("crm.internal", true), ("CRM.internal", true), ("127.0.0.2", false),
        ("[::ffff:127.0.0.1]", false), ("10.0.0.1", false), ("example.com", false),
    ])
    func `webhooks use plain HTTP only for hosts that may be configured with an http URL`(
        host: String, isOpen: Bool
    ) {
        let rules = WebhookRules(privateHosts: ["crm.internal"], allowsLoopback: true)
        let name = host.trimmingCharacters(in: ["[", "]"])
        #expect(rules.permits(url: "http://\(host):3000/x") == isOpen)
        #expect(HostRules(rules).permitsPlainHTTP(to: name) == isOpen)
        let outside = WebhookRules(privateHosts: ["crm.internal"])
        let isPrivate = name.lowercased() == "crm.internal"
        #expect(outside.permits(url: "http://\(host):3000/x") == isPrivate)
        #expect(HostRules(outside).permitsPlainHTTP(to: name) == isPrivate)
    }
}
