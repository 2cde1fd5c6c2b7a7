import AppStoreFormats
import Engine
import Ledger
import Testing

/// A change of the configuration is checked before it is applied.
@Suite struct ConfigChangeStories {
    @Test(arguments: StoryDatabase.allCases)
    func `customers who would lose access by a change of configuration are listed in advance`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            for (customer, product) in [("anna", "pro.monthly"), ("ben", "plus.monthly")] {
                try await shop.addDevice(customer)
                let bought = try await shop.simulator.post(
                    "/_sim/devices/\(customer)-1/purchases", ["product_id": .string(product)])
                try await shop.server.post(
                    "/v1/purchases",
                    [
                        "customer_id": .string(customer),
                        "signed_transactions": [.string(try bought.text("signed_transaction"))],
                    ])
            }
            var changed = birds.settings
            #expect(try await shop.engine.maintenance.impact(of: changed) == Impact(customers: 2))

            // The entitlement pro includes plus. The change removes that, and ben has a grant of
            // pro.
            changed.entitlements["plus"] = ["plus.monthly"]
            changed.entitlements["pro"]?.insert("plus.monthly")
            let impact = try await shop.engine.maintenance.impact(of: changed)
            #expect(impact.customers == 2 && impact.lost == 1 && impact.gained == 1)
            #expect(
                impact.firstLosses == [
                    .init(customer: "anna", environment: .production, entitlement: "plus")
                ])
            #expect(
                impact.changes.mapValues { [$0.losing, $0.gaining] } == [
                    .init(entitlement: "plus", environment: .production): [1, 0],
                    .init(entitlement: "pro", environment: .production): [0, 1],
                ])
            #expect(impact.changes.values.flatMap(\.firstLosing) == ["anna"])
            #expect(impact.changes.values.flatMap(\.firstGaining) == ["ben"])
            // Even with a time limit of zero, one batch is checked. In this test, one batch
            // contains every customer.
            let hasty = try await shop.engine.maintenance.impact(of: changed, within: .zero)
            #expect(hasty == impact && hasty.isWhole)
            changed.entitlements = [:]
            #expect(try await shop.engine.maintenance.impact(of: changed).lost == 3)
        }
    }
}
