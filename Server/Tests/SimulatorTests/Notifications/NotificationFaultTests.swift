import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct NotificationFaultTests {
    private func stage(next faults: NotificationFault...) async throws -> Stage {
        let stage = try Stage()
        try await stage.simulator.setFaults { try $0.notifications.order(faults) }
        return stage
    }

    private func posted(_ stage: Stage) throws -> [String?] {
        try stage.letterBox.letters.map { $0.notification.notificationType?.rawValue }
    }

    @Test(arguments: [
        (NotificationFault.drop, 0, ["DID_RENEW", "DID_RENEW"]),
        (.duplicate, 2, ["SUBSCRIBED", "SUBSCRIBED", "DID_RENEW", "DID_RENEW"]),
        (.burst, 6, Array(repeating: "SUBSCRIBED", count: 6) + ["DID_RENEW", "DID_RENEW"]),
        (.reorder, 0, ["SUBSCRIBED", "DID_RENEW", "DID_RENEW"]),
        (.delay, 0, ["SUBSCRIBED", "DID_RENEW", "DID_RENEW"]),
        (.unknownType, 1, ["SOMETHING_NEW", "DID_RENEW", "DID_RENEW"]),
    ])
    func `a fault that is set for the next notification occurs once`(
        fault: NotificationFault, atOnce: Int, types: [String]
    ) async throws {
        let stage = try await stage(next: fault)
        try await stage.buy("pro.monthly")
        #expect(stage.letterBox.count == atOnce)
        try await stage.advance("P2M")
        #expect(try posted(stage) == types)
        #expect(await stage.simulator.faults.notifications.struck == [fault: 1])
    }

    @Test func `a held notification is sent after the next one, or after an hour without one`()
        async throws
    {
        for (wait, isOvertaken) in [("PT59M", true), ("PT1H", false)] {
            let stage = try await stage(next: .reorder)
            let id = try await stage.buy("pro.monthly").originalTransactionID
            try await stage.advance(wait)
            #expect(stage.letterBox.count == (isOvertaken ? 0 : 1))
            try await stage.simulator.change(id, .cancel)
            let types = try posted(stage)
            let change = "DID_CHANGE_RENEWAL_STATUS"
            #expect(types == (isOvertaken ? [change, "SUBSCRIBED"] : ["SUBSCRIBED", change]))
        }
    }

    @Test func `a fault changes a renewal's transaction id in the notification, not its order id`()
        async throws
    {
        let stage = try await stage(next: .otherTransactionID)
        try await stage.buy("pro.monthly")
        try await stage.advance("P1M")
        let letters = try stage.letterBox.letters
        let device = try await stage.simulator.transactions(on: "anna-1")
            .map { try decode(TransactionPayload.self, $0) }
        let (told, held) = (letters[1].transaction, device[1])
        // The fault could not affect the purchase, so it waited for the renewal.
        #expect(letters[0].transaction.transactionId == device[0].transactionId)
        #expect(told.transactionId != held.transactionId && told.transactionId != nil)
        #expect(told.webOrderLineItemId == held.webOrderLineItemId)
        #expect(told.originalTransactionId == held.originalTransactionId)
    }

    @Test
    func `a document with unknown values is validly signed, and all other values stay the same`()
        async throws
    {
        let stage = try await stage(
            next: .unknownSubtype, .unknownStatus, .unknownValue, .unknownOfferType)
        try await stage.buy("pro.yearly")
        try await stage.advance("P3Y")
        let letters = try await stage.letters()
        #expect(letters[0].notification.subtype?.rawValue == "SOMETHING_NEW")
        #expect(letters[0].notification.notificationType == .subscribed)
        #expect(letters[1].notification.data?.status?.rawValue == 99)
        #expect(letters[2].notification.unknown.map(\.key) == ["fieldOfTomorrow"])
        #expect(letters[2].notification.data?.unknown.map(\.key) == ["fieldOfTomorrow"])
        #expect(letters[2].renewal?.unknown.map(\.key) == ["fieldOfTomorrow"])
        #expect(letters[2].transaction.unknown.map(\.key) == ["fieldOfTomorrow"])
        #expect(letters[2].transaction.transactionReason?.rawValue == "SOMETHING_NEW")
        // No later transaction has an offer, so the fault keeps waiting.
        #expect(await stage.simulator.faults.notifications.ordered == [.unknownOfferType])
        let key = try require(Stage.authority.get().certificates.first, "no leaf")
        for sent in await stage.simulator.notifications {
            #expect(try isSigned(sent.signedPayload, byLeaf: key))
        }
    }

    @Test func `with a fault, the offer of a transaction is of an unknown kind`() async throws {
        let stage = try await stage(next: .unknownOfferType)
        try await stage.buy("pro.yearly")
        let letter = try await stage.letters()[0]
        #expect(letter.transaction.offerType?.rawValue == 99)
        #expect(letter.transaction.offerPeriod == "P1W")
        // The next period has no offer, so there is nothing to alter.
        #expect(letter.renewal?.offerType == nil)
    }

    @Test func `with a fault, the offer of the next period is of an unknown kind`() async throws {
        let stage = try Stage(shop: TableShop.file())
        try await stage.simulator.setFaults { try $0.notifications.order([.unknownOfferType]) }
        try await stage.buy("discounted")
        let renewal = try require(try await stage.letters()[0].renewal, "no renewal")
        #expect(renewal.offerType?.rawValue == 99)
        #expect(renewal.offerDiscountType?.rawValue == "SOMETHING_NEW")
    }

    @Test func `a fault set for the next notification occurs without the random faults`()
        async throws
    {
        let stage = try await stage(next: .unknownSubtype)
        await stage.simulator.setFaults { $0.notifications.odds = [.unknownType: 1, .drop: 1] }
        try await stage.buy("pro.monthly")
        let letter = try require(try stage.letterBox.letters.first, "it was dropped")
        #expect(letter.notification.subtype?.rawValue == "SOMETHING_NEW")
        #expect(letter.notification.notificationType == .subscribed)
        #expect(await stage.simulator.notifications[0].faults == [.unknownSubtype])
    }

    @Test func `a fault truncates the body of a notification only at the first attempt`()
        async throws
    {
        let stage = try await stage(next: .truncate)
        stage.letterBox.answer([PostResult(status: 500)])
        try await stage.buy("pro.monthly")
        #expect(throws: (any Error).self) { try stage.letterBox.letters }
        try await stage.advance("PT1H")
        let bodies = stage.letterBox.bodies
        #expect(bodies.count == 2)
        #expect(Array(bodies[1].prefix(bodies[1].count / 2)) == bodies[0])
        #expect(try JSON(parsing: bodies[1])["signedPayload"] != nil)
    }

    @Test func `during an outage no notification is sent, and after the outage all are sent`()
        async throws
    {
        let stage = try Stage()
        let (from, until) = try (moment("2026-02-01T00:00:00Z"), moment("2026-04-01T00:00:00Z"))
        await stage.simulator.setFaults { $0.notificationOutage = Outage(from: from, until: until) }
        try await stage.buy("pro.monthly")
        try await stage.advance(to: "2026-03-31T23:59:59.999Z")
        #expect(stage.letterBox.count == 1)
        try await stage.advance(to: "2026-04-01T00:00:00Z")
        #expect(try posted(stage) == ["SUBSCRIBED", "DID_RENEW", "DID_RENEW"])
        #expect(await stage.simulator.notifications[1].attempts.map(\.at) == [until])
    }

    @Test func `a fixed delay holds a notification back for exactly the set time`() async throws {
        let stage = try Stage()
        await stage.simulator.setFaults { faults in
            faults.notifications.odds[.delay] = 1
            faults.delay = Faults.Delay(seconds: 60)
        }
        try await stage.buy("pro.monthly")
        try await stage.advance("PT1M")
        let attempts = await stage.simulator.notifications[0].attempts.map { RFC3339.text($0.at) }
        #expect(attempts == ["2026-01-10T20:01:00.000Z"])
    }

    @Test func `a random delay differs each time, within its limit`() async throws {
        let stage = try Stage()
        await stage.simulator.setFaults { faults in
            faults.notifications.odds[.delay] = 1
            faults.delay = Faults.Delay(seconds: 86_400, isMaximum: true)
        }
        try await stage.buy("pro.monthly")
        try await stage.advance("P1Y")
        let delays = await stage.simulator.notifications.compactMap { sent in
            sent.attempts.first.map { $0.at.milliseconds - sent.draft.at.milliseconds }
        }
        #expect(delays.count >= 12 && Set(delays).count == delays.count)
        #expect(delays.allSatisfy { (0..<86_400_000).contains($0) })
    }

    @Test(arguments: NotificationFault.allCases)
    func `a fault with odds of one occurs each time, and does not change the ground truth`(
        fault: NotificationFault
    ) async throws {
        var stories: [[String]] = []
        for odds in [0.0, 1.0] {
            let stage = try Stage()
            await stage.simulator.setFaults { $0.notifications.odds[fault] = odds }
            try await stage.buy("pro.yearly")
            try await stage.advance("P3Y")
            let struck = await stage.simulator.faults.notifications.struck[fault] ?? 0
            let possible = [.otherTransactionID: 3, .unknownOfferType: 1][fault] ?? 4
            #expect(struck == (odds == 0 ? 0 : possible))
            stories.append(await stage.simulator.notifications.map(\.draft.uuid))
        }
        #expect(stories[0] == stories[1] && stories[0].count == 4)
    }

    @Test func `the odds of one fault do not affect the other faults`() async throws {
        var dropped: [[String]] = []
        for others in [[:], [NotificationFault.forged: 0.5]] {
            let stage = try Stage()
            await stage.simulator.setFaults { faults in
                faults.notifications.odds = others.merging([.drop: 0.5]) { one, _ in one }
            }
            try await stage.buy("pro.monthly")
            try await stage.advance("P2Y")
            let sent = await stage.simulator.notifications
            dropped.append(sent.filter { $0.faults.contains(.drop) }.map(\.draft.uuid))
        }
        #expect(dropped[0] == dropped[1] && (3...22).contains(dropped[0].count))
    }
}
