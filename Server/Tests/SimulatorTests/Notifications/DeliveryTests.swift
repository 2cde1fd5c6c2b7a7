import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct DeliveryTests {
    private func attempts(_ stage: Stage) async throws -> [String] {
        let sent = await stage.simulator.notifications
        let first = try require(sent.first, "nothing was sent")
        return first.attempts.map { RFC3339.text($0.at) }
    }

    @Test func `production makes six attempts, with pauses of 1, 12, 24, 48 and 72 hours`()
        async throws
    {
        let stage = try Stage()
        stage.letterBox.answer(otherwise: PostResult(status: 500))
        try await stage.buy("pro.yearly")
        try await stage.advance("P7D")
        #expect(
            try await attempts(stage) == [
                "2026-01-10T20:00:00.000Z", "2026-01-10T21:00:00.000Z",
                "2026-01-11T09:00:00.000Z", "2026-01-12T09:00:00.000Z",
                "2026-01-14T09:00:00.000Z", "2026-01-17T09:00:00.000Z",
            ])
    }

    @Test func `new notifications are found by number, even if the oldest ones were deleted`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.yearly")
        let sent = try require(await stage.simulator.notifications.first, "nothing was sent")
        var deliveries = DeliveryQueue(stopsRetryingAt400: false)
        for _ in 0..<DeliveryQueue.storedMax { deliveries.add(sent, isSent: false) }
        let seen = deliveries.count
        #expect(deliveries.made(from: seen).isEmpty)
        deliveries.add(sent, isSent: false)
        #expect(deliveries.made(from: seen).count == 1)
        #expect(deliveries.made(from: 0).count == DeliveryQueue.storedMax)
    }

    @Test func `a retry sends the same document`() async throws {
        let stage = try Stage()
        stage.letterBox.answer([PostResult(error: "timed out")])
        try await stage.buy("pro.monthly")
        try await stage.advance("PT1H")
        let letters = try stage.letterBox.letters
        #expect(letters.count == 2)
        #expect(letters[0].notification == letters[1].notification)
    }

    @Test(arguments: [
        (200, DeliveryQueue.Step.done), (206, .done),
        (207, .retry(at: AppStoreDate(milliseconds: 3_600_000))),
        (404, .retry(at: AppStoreDate(milliseconds: 3_600_000))), (400, .giveUp),
    ])
    func `only a status from 200 to 206 is success, and 400 ends the attempts`(
        status: Int, step: DeliveryQueue.Step
    ) {
        let next = DeliveryQueue.step(
            after: PostResult(status: status), attempt: 1, in: .production, stopsAt400: true,
            at: AppStoreDate(milliseconds: 0))
        #expect(next == step)
    }

    @Test func `without stops_retrying_at_400, a response 400 is retried like any other failure`() {
        let next = DeliveryQueue.step(
            after: PostResult(status: 400), attempt: 2, in: .production, stopsAt400: false,
            at: AppStoreDate(milliseconds: 0))
        #expect(next == .retry(at: AppStoreDate(milliseconds: 12 * 3_600_000)))
    }

    @Test func `the sandbox posts a notification only once`() async throws {
        let stage = try Stage()
        stage.letterBox.answer(otherwise: PostResult(status: 503))
        try await stage.simulator.addDevice(account: "anna", environment: .sandbox)
        try await stage.buy("pro.monthly")
        try await stage.advance("P7D")
        #expect(try await attempts(stage).count == 1)
    }

    @Test func `a notification is posted at the time of its event, before the clock moves on`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        try await stage.advance("P1Y")
        for sent in await stage.simulator.notifications {
            #expect(sent.attempts.map(\.at) == [sent.draft.at])
        }
        #expect(stage.letterBox.count == 13)
    }

    @Test func `without a URL notifications are stored but not posted`() async throws {
        let stage = try Stage { $0.notificationURL = nil }
        try await stage.buy("pro.monthly")
        try await stage.advance("P1M")
        #expect(stage.letterBox.count == 0)
        #expect(await stage.simulator.notifications.count == 2)
    }
}
