import AppStoreFormats
import Testing

@testable import Simulator

/// The reports about subscriptions: counts, events and subscribers.
@Suite struct SalesReportSubscriptionTests {
    @Test func `a subscription is counted by its state at the end of each day`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.yearly").originalTransactionID
        try await stage.simulator.change(id, .failBilling)
        try await stage.advance("P1W")
        try await stage.advance("P20D")
        try await stage.simulator.change(id, .recoverBilling)
        try await stage.advance("P10D")
        try await stage.simulator.change(id, .refund())
        try await stage.advance("P10D")
        let expected: [(day: String, counter: KeyPath<SubscriptionRow, Int64>)] = [
            ("2026-01-10", \.introductoryFreeTrial), ("2026-01-16", \.introductoryFreeTrial),
            ("2026-01-17", \.gracePeriod), ("2026-02-01", \.gracePeriod),
            ("2026-02-02", \.billingRetry), ("2026-02-05", \.billingRetry),
            ("2026-02-06", \.standardPrice), ("2026-02-15", \.standardPrice),
        ]
        for (day, counter) in expected {
            let rows = try await stage.subscriptions(day)
            #expect(rows.count == 1 && rows.first?[keyPath: counter] == 1, "\(day): \(rows)")
            let row = try require(rows.first, day)
            #expect(row.active + row.billingRetry == 1)
            #expect(row.subscribers == row.active)
        }
        for day in ["2026-01-09", "2026-02-16"] {
            #expect(try await stage.subscriptions(day).isEmpty)
        }
    }

    @Test func `rows of a subscription report with equal columns become one row`() async throws {
        let stage = try Stage()
        for name in ["anna", "ben", "cleo"] {
            try await stage.simulator.addDevice(
                account: name, storefront: name == "cleo" ? "GBR" : "USA")
            try await stage.buy("pro.monthly", on: "\(name)-1")
        }
        let rows = try await stage.subscriptions("2026-01-10")
        #expect(rows.map(\.standardPrice) == [2, 1] && rows.map(\.country) == ["US", "GB"])
        #expect(rows[0].subscriptionGroupID == 21_400_001 && rows[0].customerPrice == 9990)
        #expect(rows[0].developerProceeds == 6993)
    }

    // MARK: - Events

    /// Each row: an act on anna's subscription, and the events of a day afterwards.
    struct Life: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [LifeTests.Step]
        let day: String
        let events: [String]
    }

    private static let pro = "of Birds Pro, monthly"

    private static let lives = [
        Life(
            testDescription: "subscribes", steps: [.buy("pro.monthly")], day: "2026-01-10",
            events: ["Subscribe \(pro)"]),
        Life(
            testDescription: "renews", steps: [.buy("pro.monthly"), .waits("P1M")],
            day: "2026-02-10", events: ["Renew \(pro)"]),
        Life(
            testDescription: "starts a trial", steps: [.buy("pro.yearly")], day: "2026-01-10",
            events: ["Start Introductory Offer of Birds Pro, yearly"]),
        Life(
            testDescription: "pays after a trial", steps: [.buy("pro.yearly"), .waits("P1W")],
            day: "2026-01-17",
            events: ["Paid Subscription from Introductory Offer of Birds Pro, yearly"]),
        Life(
            testDescription: "cancels: when the period ends, not when renewal was switched off",
            steps: [.buy("pro.monthly"), .does(.cancel), .waits("P1M")], day: "2026-02-10",
            events: ["Cancel \(pro)"]),
        Life(
            testDescription: "switches renewal off and on",
            steps: [.buy("pro.monthly"), .does(.cancel), .does(.resume)], day: "2026-01-10",
            events: ["Subscribe \(pro)"]),
        Life(
            testDescription: "comes back",
            steps: [.buy("pro.monthly"), .does(.cancel), .waits("P2M"), .buy("plus.monthly")],
            day: "2026-03-10", events: ["Reactivate with Downgrade of Birds Plus, monthly"]),
        Life(
            testDescription: "is refunded", steps: [.buy("pro.monthly"), .does(.refund())],
            day: "2026-01-10", events: ["Refund \(pro)", "Subscribe \(pro)"]),
        Life(
            testDescription: "is refunded, which is reversed, and upgrades on the next day",
            steps: [
                .buy("pro.monthly"), .does(.refund()), .does(.reverseRefund()), .waits("P1D"),
                .buy("premium.monthly"),
            ], day: "2026-01-10", events: ["Refund \(pro)", "Subscribe \(pro)"]),
        Life(
            testDescription: "upgrades", steps: [.buy("pro.monthly"), .changes("premium.monthly")],
            day: "2026-01-10", events: ["Subscribe \(pro)", "Upgrade of Birds Premium, monthly"]),
        Life(
            testDescription: "downgrades: when it takes effect",
            steps: [.buy("pro.monthly"), .changes("plus.monthly"), .waits("P1M")],
            day: "2026-02-10", events: ["Downgrade of Birds Plus, monthly"]),
        Life(
            testDescription: "upgrades from a trial",
            steps: [.buy("pro.yearly"), .waits("P1D"), .changes("premium.monthly")],
            day: "2026-01-11",
            events: ["Upgrade from Introductory Offer of Birds Premium, monthly"]),
        Life(
            testDescription: "changes the duration when the period ends",
            steps: [.buy("pro.monthly"), .changes("pro.yearly"), .waits("P1M")],
            day: "2026-02-10", events: ["Crossgrade of Birds Pro, yearly"]),
        Life(
            testDescription: "enters the grace period",
            steps: [.buy("pro.monthly"), .does(.failBilling), .waits("P1M")], day: "2026-02-10",
            events: ["Grace Period from Paid Subscription \(pro)"]),
        Life(
            testDescription: "is renewed from the grace period",
            steps: [
                .buy("pro.monthly"), .does(.failBilling), .waits("P1M"), .waits("P3D"),
                .does(.recoverBilling),
            ], day: "2026-02-13", events: ["Renewal from Grace Period \(pro)"]),
        Life(
            testDescription: "enters billing retry after the grace period",
            steps: [.buy("pro.monthly"), .does(.failBilling), .waits("P1M"), .waits("P16D")],
            day: "2026-02-26", events: ["Billing Retry from Grace Period \(pro)"]),
        Life(
            testDescription: "is renewed from billing retry",
            steps: [
                .buy("pro.monthly"), .does(.failBilling), .waits("P1M"), .waits("P30D"),
                .does(.recoverBilling),
            ], day: "2026-03-12", events: ["Renewal from Billing Retry \(pro)"]),
        Life(
            testDescription: "ends when the retries end",
            steps: [.buy("pro.monthly"), .does(.failBilling), .waits("P1M"), .waits("P60D")],
            day: "2026-04-11", events: ["Canceled from Billing Retry \(pro)"]),
        Life(
            testDescription: "cancels in the grace period",
            steps: [
                .buy("pro.monthly"), .does(.failBilling), .waits("P1M"), .waits("P2D"),
                .does(.cancel),
            ], day: "2026-02-12", events: ["Canceled from Grace Period \(pro)"]),
        Life(
            testDescription: "ends because nobody agreed to the price",
            steps: [
                .buy("pro.monthly"),
                .does(.raisePrice(.init(price: 12_990, needsConsent: true))), .waits("P1M"),
            ], day: "2026-02-10", events: ["Cancel \(pro)"]),
    ]

    @Test(arguments: lives)
    func `the event report of a day lists the events of each action`(life: Life) async throws {
        let stage = try Stage()
        for step in life.steps { try await stage.play(step) }
        #expect(try await stage.events(life.day) == life.events)
    }

    @Test func `a cancellation event has its reason and the number of days before canceling`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.advance("P1M")
        try await stage.advance("P5D")
        try await stage.simulator.change(id, .cancel)
        try await stage.advance("P1M")
        let row = try await stage.eventRow(.cancel, on: "2026-03-10")
        #expect(row.cancellationReason == .canceled && row.daysBeforeCanceling == 5)
        #expect(row.consecutivePaidPeriods == 2 && row.country == "US")
        #expect(row.originalStartDate == (try CivilDate(test: "2026-01-10")))
        try await stage.advance("P10D")
        try await stage.buy("pro.monthly")
        let day = await stage.books().calendar.day(of: stage.simulator.clock.now)
        let back = try await stage.eventRow(.reactivate, on: day.isoText)
        #expect(back.daysCanceled == 15 && back.consecutivePaidPeriods == 1)
    }

    @Test(arguments: [
        (SubscriptionAct.expire, SalesReportCancellationReason.other, "2026-01-10"),
        (.removeFromSale, .removedFromSale, "2026-02-10"),
        (.raisePrice(.init(price: 12_990, needsConsent: true)), .priceIncrease, "2026-02-10"),
    ])
    func `the event report has the reason of a cancellation that the customer did not request`(
        act: SubscriptionAct, reason: SalesReportCancellationReason, day: String
    ) async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.simulator.change(id, act)
        try await stage.advance("P1M")
        let row = try await stage.eventRow(.cancel, on: day)
        #expect(row.cancellationReason == reason && row.daysBeforeCanceling == nil)
    }

    // MARK: - Subscribers

    @Test func `a subscriber gets another number only after 180 days without a subscription`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.advance("P1M")
        try await stage.simulator.change(id, .refund())
        try await stage.advance("P181D")
        try await stage.buy("pro.monthly")
        let books = await stage.books()
        let days = ["2026-01-10", "2026-02-10", "2026-08-10"]
        let rows = try days.flatMap { books.subscriberRows(on: try CivilDate(test: $0)) }
        #expect(rows.map(\.units) == [1, 1, -1, 1])
        #expect(rows.map(\.isMarkedAsRefund) == [false, false, true, false])
        #expect(rows[2].purchaseDate == rows[1].eventDate && rows[2].customerPrice == -9990)
        #expect(Set(rows[..<3].map(\.subscriberID)).count == 1)
        #expect(rows[3].subscriberID != rows[0].subscriberID)
        #expect(rows.map(\.isSubscriberIDReset) == [false, false, false, true])
    }
}

extension Stage {
    fileprivate func play(_ step: LifeTests.Step) async throws {
        func id() async throws -> String { try await truth().originalTransactionID }
        switch step {
        case .buy(let product): try await buy(product)
        case .does(let act): try await simulator.change(id(), act)
        case .changes(let product): try await simulator.change(id(), .changeProduct(product))
        case .waits(let duration): try await advance(duration)
        }
    }
}
