import Ledger
import Storage
import Testing

/// Concurrent documents are projected by several threads, and their events have one order.
@Suite struct ManyPurchasesTests {
    private static let purchases = 40
    private static let periods = 3

    /// The documents. The documents of one purchase are in the order of time; the purchases are in
    /// no order.
    private static let documents = (0..<periods * purchases).map { number in
        let (period, place) = number.quotientAndRemainder(dividingBy: purchases)
        let from = now + .days(30 * period)
        let payment = Payment(
            transaction: TransactionID(rawValue: "\(number)"), line: "\(number)",
            product: "pro.monthly", from: from, until: from + .days(30),
            price: Money(milliunits: 9_990, currency: "USD"), isRenewal: period > 0)
        return DocumentWithFacts(
            document(UInt8(number), signedAt: from),
            [Fact(about: purchase(place * 7 % purchases), attestedAt: from, .payment(payment))])
    }

    private static func purchase(_ place: Int) -> PurchaseID {
        PurchaseID(TransactionID(rawValue: "\(1000 + place)"), in: .production)
    }

    @Test(arguments: Driver.allCases)
    func `documents recorded together have the same result as documents recorded one by one`(
        driver: Driver
    ) async throws {
        try await driver.withStore { together in
            for kept in await together.record(Self.documents) { #expect(try kept.get()) }
            try await driver.withStore { apart in
                for document in Self.documents { #expect(try await apart.record(document)) }
                for place in 0..<Self.purchases {
                    let (one, other) = try await (
                        Self.known(of: place, together), Self.known(of: place, apart)
                    )
                    #expect(one == other && one.told.count == Self.periods)
                    #expect(one.timeline?.periods.count == Self.periods)
                }
            }
        }
    }

    private struct Known: Equatable {
        var timeline: Timeline?
        var told: [EventEntry]
    }

    private static func known(of place: Int, _ store: Database) async throws -> Known {
        try await store.readingLog { tx in
            let purchase = purchase(place)
            let events = try tx.events.all(of: app, after: 0, limit: EventLog.eventsMax)
            return Known(
                timeline: try tx.purchases.timeline(of: purchase, in: app),
                told: events.map(\.entry).filter { $0.purchase == purchase })
        }
    }
}
