import Testing

@testable import Courier

/// The signatures that Standard Webhooks defines under "Symmetric signatures".
@Suite struct WebhookSignatureTests {
    private static let text = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    @Test func `our signature of the specification's example equals the one in the specification`()
        throws
    {
        let secret = try #require(WebhookSecret(Self.text))
        let body = Array(#"{"test": 2432232314}"#.utf8)
        let signature = WebhookSignature.text(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", at: 1_614_265_330, body: body, secrets: [secret])
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }
}
