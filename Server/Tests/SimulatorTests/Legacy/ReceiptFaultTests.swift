import AppStoreFormats
import Testing

@testable import Simulator

/// How faults of the API appear in verifyReceipt.
@Suite struct ReceiptFaultTests {
    private func request(_ stage: Stage, secret: Bool = true) async throws -> [UInt8] {
        try await stage.buy("pro.monthly")
        var request = VerifyReceiptRequest()
        request.receiptData = try await stage.simulator.receipt(on: "anna-1")
        request.password = secret ? SimulatorSettings.wellKnownSecret : nil
        return request.json.bytes
    }

    @Test(arguments: [
        (APIFault.unauthorized, #"{"environment":"Production","status":21004}"#),
        (.rateLimit, #"{"status":21005}"#), (.error, #"{"status":21009}"#),
        (
            .retryableError,
            #"{"environment":"Production","status":21100,"is-retryable":true}"#
        ),
    ])
    func `a fault that is set for the next request becomes a status of verifyReceipt, once`(
        fault: APIFault, text: String
    ) async throws {
        let stage = try Stage()
        let body = try await request(stage)
        try await stage.simulator.setFaults { try $0.api.order([fault]) }
        let simulator = stage.simulator
        #expect(try await simulator.verifyReceipt(body, at: .production).text == text)
        #expect(try await simulator.verifyReceipt(body, at: .production)["status"] == 0)
        #expect(await simulator.faults.api.struck == [fault: 1])
        let noted = await simulator.log.last { $0["what"] == "fault" }
        #expect(noted?["endpoint"] == "POST verifyReceipt")
    }

    @Test(arguments: [APIFault.notFound, .expiredToken, .unauthorized])
    func `a fault that would not change verifyReceipt's answer waits for another request`(
        fault: APIFault
    ) async throws {
        let stage = try Stage()
        let body = try await request(stage, secret: false)
        try await stage.simulator.setFaults { try $0.api.order([fault]) }
        let answer = try await stage.simulator.verifyReceipt(body, at: .production)
        // The request has no secret, so the server would also refuse it without a fault.
        #expect(answer["status"] == 21004)
        #expect(await stage.simulator.faults.api.ordered == [fault])
    }

    @Test func `during an outage verifyReceipt is unavailable, until the outage ends`()
        async throws
    {
        let stage = try Stage()
        let body = try await request(stage)
        let (from, until) = try (moment("2026-01-11T00:00:00Z"), moment("2026-01-19T00:00:00Z"))
        await stage.simulator.setFaults { $0.apiOutage = Outage(from: from, until: until) }
        let simulator = stage.simulator
        #expect(try await simulator.verifyReceipt(body, at: .production)["status"] == 0)
        try await stage.advance(to: "2026-01-18T23:59:59.999Z")
        let answer = try await simulator.verifyReceipt(body, at: .production)
        #expect(answer.text == #"{"status":21005}"#)
        try await stage.advance(to: "2026-01-19T00:00:00Z")
        #expect(try await simulator.verifyReceipt(body, at: .production)["status"] == 0)
    }

    @Test
    func `a stale answer of verifyReceipt repeats the last answer to the same request`()
        async throws
    {
        let stage = try Stage()
        let body = try await request(stage)
        let simulator = stage.simulator
        await simulator.setFaults { faults in
            (faults.api.odds[.stale], faults.api.odds[.slow]) = (1, 1)
            (faults.slowSeconds, faults.staleSeconds) = (0.1, 60 * 86_400)
        }
        let began = ContinuousClock.now
        let first = try await simulator.verifyReceipt(body, at: .production)
        #expect(ContinuousClock.now - began >= .milliseconds(100))
        try await stage.advance("P1M")
        #expect(try await simulator.verifyReceipt(body, at: .production) == first)
        #expect(first["latest_receipt_info"]?.array?.count == 1)
        // A request to the other store is a different question.
        #expect(try await simulator.verifyReceipt(body, at: .sandbox)["status"] == 21008)
        try await stage.advance("P2M")
        let later = try await simulator.verifyReceipt(body, at: .production)
        #expect(later["latest_receipt_info"]?.array?.count == 4)
    }

    @Test func `statuses that are set for verifyReceipt take precedence over faults`() async throws
    {
        let stage = try Stage()
        let body = try await request(stage)
        try await stage.simulator.setFaults { try $0.api.order([.error]) }
        let wanted = OrderedStatus(status: .malformed, isRetryable: nil)
        try await stage.simulator.order(wanted, times: 1)
        for status in [21002, 21009, 0] {
            let answer = try await stage.simulator.verifyReceipt(body, at: .production)
            #expect(answer["status"]?.integer == Int64(status))
        }
    }
}
