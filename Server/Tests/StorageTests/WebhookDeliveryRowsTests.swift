import Ledger
import Testing

@testable import Storage

private let crm: WebhookID = "crm"

extension Database {
    /// The deliveries that are due now.
    fileprivate func leases() async throws -> [DeliveryLease] {
        try await transaction {
            try $0.deliveries.lease(
                to: crm, of: app, dueBy: now, limit: 10, for: "a", lease: .seconds(30))
        }
    }
}

@Suite struct WebhookDeliveryRowsTests {
    @Test(arguments: Driver.allCases)
    func `deliveries of the same time are listed by the numbers of their events`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let numbers = Array(Int64(8)...12)
            try await store.transaction { tx in
                try tx.webhooks.add(StoredWebhook(id: crm, createdAt: now, cursor: 0), of: app)
                try tx.deliveries.add(
                    numbers.map {
                        NewDelivery(
                            message: "birds_evt_\($0)", sequence: $0, kind: "purchased",
                            stream: "anna", body: [1])
                    }, to: crm, of: app, at: now)
            }
            var (found, position): ([Int64], DeliveryPosition?) = ([], nil)
            for _ in 0..<numbers.count {
                let after = position
                let page = try await store.read {
                    try $0.deliveries.all(
                        to: crm, of: app, in: nil, streams: nil, after: after, limit: 2)
                }
                found += page.map(\.sequence)
                position = page.last?.position ?? position
            }
            #expect(found == numbers.reversed())
        }
    }

    /// In RevenueCat's format, an event belongs to its purchase until the purchase is linked, and
    /// then to the customer.
    @Test(arguments: Driver.allCases)
    func `a replayed delivery is due at once, and keeps the stream of the first delivery`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let delivery = NewDelivery(
                message: "birds_evt_1", sequence: 1, kind: "purchased", stream: "1000", body: [1])
            try await store.transaction { tx in
                try tx.webhooks.add(StoredWebhook(id: crm, createdAt: now, cursor: 0), of: app)
                try tx.deliveries.add([delivery], to: crm, of: app, at: now)
            }
            for lease in try await store.leases() {
                try await store.transaction { tx in
                    try tx.deliveries.complete(
                        lease, to: crm, of: app,
                        DeliveryAttempt(at: now, milliseconds: 1, status: 200))
                }
            }
            #expect(try await store.leases().isEmpty)
            var again = delivery
            again.stream = "anna"
            let replayed = again
            try await store.transaction {
                try $0.deliveries.replay([replayed], to: crm, of: app, at: now)
            }
            let due = try await store.leases()
            #expect(due.map(\.message) == ["birds_evt_1"] && due.map(\.stream) == ["1000"])
        }
    }
}
