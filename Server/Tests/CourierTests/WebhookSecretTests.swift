import Testing

@testable import Courier

@Suite struct WebhookSecretTests {
    @Test(arguments: [
        "", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_!",
        "whsec_\(String(repeating: "QUFB", count: 22))",
    ])
    func `a text in another form is not a webhook secret`(text: String) {
        #expect(WebhookSecret(text) == nil)
    }

    @Test func `a new webhook secret is valid and unique`() throws {
        var random = SystemRandomNumberGenerator()
        let secrets = (1...10).map { _ in WebhookSecret.fresh(by: &random) }
        for secret in secrets { #expect(WebhookSecret(secret.text) == secret) }
        #expect(Set(secrets).count == secrets.count)
        #expect(!"\(secrets[0])".contains(secrets[0].text))
    }
}
