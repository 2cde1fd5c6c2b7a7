import Courier
import Dashboard
import Testing

@testable import Program

@Suite struct WebhookSenderTests {
    @Test func `pages name the time that a receiver has`() {
        #expect(Courier.timeout == .seconds(WebhookFigures.answerSeconds))
    }
}
