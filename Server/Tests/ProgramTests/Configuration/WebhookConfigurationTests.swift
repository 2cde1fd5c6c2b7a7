import Engine
import Foundation
import Ledger
import Storage
import Testing

@testable import Program

@Suite struct WebhookConfigurationTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    private func rules(_ lines: String) throws(ConfigurationFailure) -> WebhookRules {
        let text = """
            apps:
              birds:
                bundle_id: com.example.birds
                app_apple_id: 1234567890
                products: {pro: [pro]}
            \(lines)
            """
        let file = try ConfigurationFile(
            text,
            environment: ["SECRET": Self.secret, "WRONG": "whsec_x", "TOKEN": "Bearer t\n"]
        ) { _ in nil }
        return file.apps.first?.settings.webhooks ?? .none
    }

    private func problems(_ lines: String) -> [String] {
        do {
            _ = try rules(lines)
            return []
        } catch { return error.complaints.map(\.message) }
    }

    @Test func `by default, no webhook is configured`() throws {
        #expect(try rules("") == .none)
    }

    @Test func `the configuration sets the filter, the secret and the header of a webhook`() throws
    {
        let found = try rules(
            """
                webhooks:
                  allow_private: [CRM.internal]
                  endpoints:
                    - name: crm
                      url: http://crm.internal:3000/events
                      types: [renewed, expired]
                      products: [pro]
                      environments: production
                      secret_env: SECRET
                      authorization_env: TOKEN
                      paused: true
            """)
        #expect(found.privateHosts == ["crm.internal"] && !found.allowsLoopback)
        let webhook = try #require(found.endpoints.first)
        #expect(webhook.id == "crm" && webhook.isPaused && webhook.secrets == [Self.secret])
        #expect(webhook.settings.url == "http://crm.internal:3000/events")
        #expect(webhook.settings.authorization == "Bearer t")
        #expect(
            webhook.settings.filter
                == WebhookFilter(
                    types: [.renewed, .expired], products: ["pro"], environments: [.production]))
        var app = AppSettings(id: "birds", bundleID: "b", entitlements: [:])
        app.webhooks = found
        let lines = app.webhookLines.joined()
        #expect(lines.contains("crm") && !lines.contains("events"))
        #expect(!lines.contains(Self.secret) && !lines.contains("Bearer"))
    }

    /// Each row is a webhook with one mistake.
    @Test(arguments: [
        ("name: CRM, url: https://a.example, secret_env: SECRET", "is not a valid name"),
        ("url: https://a.example, secret_env: SECRET", "is not a valid name"),
        ("name: crm, secret_env: SECRET", "no valid url"),
        ("name: crm, url: http://a.example, secret_env: SECRET", "no valid url"),
        ("name: crm, url: https://a.example", "no valid secret"),
        ("name: crm, url: https://a.example, secret_env: WRONG", "no valid secret"),
        ("name: crm, url: https://a.example, secret_env: NONE", "no valid secret"),
        ("name: crm, url: https://a.example, secret_env: SECRET, types: [renewd]", "type"),
        ("name: crm, url: https://a.example, secret_env: SECRET, format: xml", "format"),
        (
            "name: crm, url: https://a.example, secret_env: SECRET, authorization_env: NONE",
            "no valid value of the header Authorization"
        ),
        ("name: crm, url: https://a.example, secret_env: SECRET, environments: [x]", "unknown"),
        ("name: crm, url: https://a.example, secret: whsec_x", "“secret” is unknown"),
    ])
    func `a webhook with a mistake is refused without showing its secret`(
        members: String, complaint: String
    ) {
        let found = problems("    webhooks: {endpoints: [{\(members)}]}")
        #expect(found.contains { $0.contains(complaint) }, "\(found)")
        #expect(!found.contains { $0.contains("whsec_") }, "\(found)")
    }

    @Test func `a webhook's name can be used only once`() {
        let webhook = "{name: crm, url: https://a.example, secret_env: SECRET}"
        let found = problems("    webhooks: {endpoints: [\(webhook), \(webhook)]}")
        #expect(found == ["The name crm is used twice."])
    }
}
