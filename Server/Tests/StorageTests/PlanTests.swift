import Testing

@testable import Storage

@Suite struct PlanTests {
    /// A customer has few purchases, an app has millions.
    @Test(arguments: [
        (StoreTransaction.selectLinked, "links_by_customer"),
        (StoreTransaction.selectUnlinked, "purchases_by_account_token"),
        (StoreTransaction.selectShared, "shares_by_customer"),
    ])
    func `what a customer has is found by an index, not by reading all`(
        select: String, index: String
    ) async throws {
        try await Driver.sqliteMemory.withStore { store in
            let plan = try await store.database.read { connection in
                try connection.rows(
                    "EXPLAIN QUERY PLAN \(select)",
                    [.text("birds"), .text("anna"), .text("production")]
                ).map { try $0.text(3) }
            }
            #expect(plan[0].hasPrefix("SEARCH") && plan[0].contains(index), "\(plan)")
            #expect(plan.allSatisfy { !$0.hasPrefix("SCAN") }, "\(plan)")
        }
    }

    @Test func `the ids of a customer are found by their index, and lie there in order`()
        async throws
    {
        try await Driver.sqliteMemory.withStore { store in
            let plan = try await store.database.read { connection in
                try connection.rows(
                    "EXPLAIN QUERY PLAN \(StoreTransaction.selectIDs)",
                    [.text("birds"), .text("anna")]
                ).map { try $0.text(3) }
            }
            #expect(plan.count == 4, "\(plan)")
            #expect(plan[0].hasSuffix("(app=? AND id=?)"), "\(plan)")
            #expect(plan[1].contains("customer_ids_by_customer (app=? AND customer=?)"), "\(plan)")
            #expect(plan[3].contains("grants_by_customer (app=? AND customer=?)"), "\(plan)")
        }
    }
}
