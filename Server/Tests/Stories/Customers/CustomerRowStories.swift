import AppStoreFormats
import Engine
import Ledger
import Storage
import Testing

/// Compares the rows about customers' access and purchases, which an operator reads with SQL, with
/// the server's responses.
@Suite(.serialized) struct CustomerRowStories {
    @Test(arguments: StoryDatabase.allCases)
    func `SQL rows of entitlements and balances match the server's answers after each change`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let names: [CustomerID] = ["anna", "ben", "cleo"]
            for name in ["anna", "ben"] {
                #expect(try await shop.post(try await shop.buyMonth(name), as: name) == 200)
            }
            try await Self.expectRows(of: names, in: shop, "after the purchases")
            let seeds = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"])
            #expect(try await shop.post(seeds, as: "anna") == 200)
            _ = try await shop.engine.wallets.book(
                NewBooking(.debit, currency: "seeds", amount: 30, reason: "an oak", key: "1"),
                of: "anna",
                app: "birds", environment: .production)
            try await Self.expectRows(of: names, in: shop, "after a debit")
            #expect(try await Self.count("wallet_entries", "balance = 70", in: shop) == 1)
            try await shop.simulator.post(
                "/_sim/transactions/\(try seeds.text("transaction_id"))/refund")
            try await shop.simulator.post("/_sim/subscriptions/ben:pro.monthly/refund")
            try await Self.expectRows(of: names, in: shop, "after refunds")
            try await shop.simulator.post("/_sim/subscriptions/anna:pro.monthly/cancel")
            try await shop.simulator.post("/_sim/clock", ["advance": "P40D"])
            while try await shop.engine.events.emitTimeBased() > 0 {}
            try await Self.expectRows(of: names, in: shop, "after the end")
            #expect(try await Self.count("entitlements", "is_active = 1", in: shop) == 0)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `erasing a customer deletes the entitlement rows of that customer only`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            for name in ["anna", "ben"] {
                #expect(try await shop.post(try await shop.buyMonth(name), as: name) == 200)
            }
            try await Self.expectRows(of: ["anna", "ben"], in: shop, "at first")
            _ = try await shop.engine.customers.erase("anna", app: "birds")
            #expect(try await Self.count("entitlements", "customer_id = 'anna'", in: shop) == 0)
            try await Self.expectRows(of: ["ben"], in: shop, "after the erasure")
            #expect(try await Self.count("entitlements", "customer_id = 'anna'", in: shop) == 0)
        }
    }

    private static func count(
        _ view: String, _ condition: String, in shop: Shop
    ) async throws -> Int64 {
        try await shop.database.read { connection in
            try connection.number("SELECT count(*) FROM \(view) WHERE \(condition)")
        }
    }

    private static func expectRows(
        of customers: [CustomerID], in shop: Shop, _ comment: Comment
    ) async throws {
        _ = try await shop.engine.events.numberEvents()
        while try await shop.engine.customers.show() > 0 {}
        for customer in customers {
            let state = try await shop.engine.customers.find(
                customer, app: "birds", environment: .production)
            let wanted = Set(
                state.entitlements.map { entitlement, status in
                    [
                        entitlement.rawValue, status.state.rawValue,
                        status.state.isOpen ? "1" : "0", status.until?.description ?? "-",
                    ].joined(separator: " ")
                })
            let (rights, balances) = try await shop.database.read { connection in
                (
                    try connection.rows(
                        "SELECT entitlement, state, is_active, coalesce(expires_at, '-') "
                            + "FROM entitlements WHERE app = 'birds' AND customer_id = $1 "
                            + "AND environment = 'production'", [.text(customer.rawValue)]
                    ) { row throws(StorageFailure) in
                        "\(try row.text()) \(try row.text()) \(try row.integer()) "
                            + (try row.text())
                    },
                    try connection.rows(
                        "SELECT currency, balance FROM wallet_entries WHERE app = 'birds' "
                            + "AND customer_id = $1 AND environment = 'production' "
                            + "ORDER BY number", [.text(customer.rawValue)]
                    ) { row throws(StorageFailure) in
                        (CurrencyID(rawValue: try row.text()), try row.integer())
                    }
                )
            }
            #expect(Set(rights) == wanted, "\(customer) \(comment)")
            var last: [CurrencyID: Int64] = [:]
            for (currency, balance) in balances { last[currency] = balance }
            #expect(last == state.balances, "\(customer) \(comment)")
        }
    }
}
