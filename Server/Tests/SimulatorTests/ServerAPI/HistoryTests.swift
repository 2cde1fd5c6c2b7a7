import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct HistoryTests {
    /// All pages of a list, each as the ids of its transactions.
    private func pages(
        _ stage: Stage, _ line: String, _ query: [(String, String)] = [],
        between: () async throws -> Void = {}
    ) async throws -> (ids: [[String]], last: String) {
        var ids: [[String]] = []
        var revision: String?
        while true {
            let more = revision.map { [("revision", $0)] } ?? []
            let json = try await stage.json(Ask(line, query + more))
            ids.append(try stage.transactions(json).compactMap(\.transactionId))
            revision = json["revision"]?.string
            guard json["hasMore"] == true, ids.count < 10 else { break }
            try await between()
        }
        return (ids, try require(revision, "no revision"))
    }

    private func stage(gems: Int) async throws -> (Stage, line: String, ids: [String]) {
        let stage = try Stage(shop: TableShop.file())
        var ids: [String] = []
        for _ in 0..<gems { ids.append(try await stage.buy("gem").transactionID) }
        return (stage, "GET v2/history/\(ids[0])", ids)
    }

    @Test func `pages of twenty have every transaction once, in both directions`() async throws {
        let (stage, line, ids) = try await stage(gems: 45)
        let up = try await pages(stage, line)
        #expect(up.ids.map(\.count) == [20, 20, 5])
        #expect(up.ids.flatMap(\.self) == ids)
        let down = try await pages(stage, line, [("sort", "DESCENDING")])
        #expect(down.ids.flatMap(\.self) == ids.reversed())
    }

    @Test func `if a purchase is made between two pages, no row is missing or repeated`()
        async throws
    {
        let (stage, line, ids) = try await stage(gems: 45)
        var bought: [String] = []
        let up = try await pages(stage, line) {
            bought.append(try await stage.buy("gem").transactionID)
        }
        #expect(bought.count == 2)
        #expect(up.ids.flatMap(\.self) == ids + bought)
        let down = try await pages(stage, line, [("sort", "DESCENDING")]) {
            try await stage.buy("gem")
        }
        // Transactions newer than the first page are not on the following pages.
        #expect(down.ids.flatMap(\.self) == (ids + bought).reversed())
    }

    @Test func `no transaction is omitted if others are refunded between two pages`() async throws {
        let (stage, line, ids) = try await stage(gems: 45)
        // The first transaction was already listed, the second was not.
        var waiting = [ids[0], ids[44]]
        let up = try await pages(stage, line) {
            try await stage.simulator.change(transaction: waiting.removeFirst(), .refund())
        }
        #expect(up.ids.flatMap(\.self) == Array(ids[..<44]) + [ids[0], ids[44]])
    }

    @Test func `if a transaction changes before a descending list reaches it, it is listed once`()
        async throws
    {
        let (stage, line, ids) = try await stage(gems: 45)
        // The first transaction was not yet listed, the second already was.
        var waiting = [ids[0], ids[44]]
        var query = [("sort", "DESCENDING")]
        var shown: [TransactionPayload] = []
        while true {
            let json = try await stage.json(Ask(line, query))
            shown += try stage.transactions(json)
            guard json["hasMore"] == true else { break }
            let revision = try require(json["revision"]?.string, "no revision")
            query = [("sort", "DESCENDING"), ("revision", revision)]
            try await stage.simulator.change(transaction: waiting.removeFirst(), .refund())
        }
        #expect(waiting.isEmpty)
        #expect(shown.compactMap(\.transactionId) == ids.reversed())
        #expect(shown.last?.revocationDate != nil)
        #expect(shown.first?.revocationDate == nil)
    }

    @Test func `the last page of a history says that there is no more, even if it is full`()
        async throws
    {
        let (stage, line, _) = try await stage(gems: 20)
        let json = try await stage.json(Ask(line))
        #expect(json["hasMore"] == false)
        #expect(json["signedTransactions"]?.array?.count == 20)
    }

    @Test
    func `a stored revision returns later changes, even if they were made in the same moment`()
        async throws
    {
        let (stage, line, ids) = try await stage(gems: 3)
        let kept = try await pages(stage, line).last
        let next = Ask(line, [("revision", kept)])
        #expect(try await stage.json(next)["signedTransactions"] == [])
        try await stage.simulator.change(transaction: ids[0], .refund())
        let bought = try await stage.buy("gem").transactionID
        let changed = try stage.transactions(try await stage.json(next))
        #expect(changed.compactMap(\.transactionId) == [ids[0], bought])
        #expect(changed.first?.revocationDate != nil)
    }

    private static let filters: [([(String, String)], Int)] = [
        ([], 5),
        ([("productId", "pro"), ("productId", "map")], 3),
        ([("productType", "AUTO_RENEWABLE")], 2),
        ([("productType", "CONSUMABLE"), ("productType", "NON_CONSUMABLE")], 2),
        ([("productType", "NON_RENEWABLE")], 1),
        ([("subscriptionGroupIdentifier", "tiers")], 2),
        ([("inAppOwnershipType", "PURCHASED")], 5),
        ([("inAppOwnershipType", "FAMILY_SHARED")], 0),
        ([("revoked", "true")], 1),
        ([("revoked", "False")], 4),
        ([("excludeRevoked", "true")], 4),
        // The purchases of the first month: the start is included, the end is not.
        ([("startDate", "1768075200000"), ("endDate", "1770753600000")], 4),
        ([("startDate", "1768075200001")], 1),
    ]

    @Test(arguments: filters.indices)
    func `a filter of the history returns the matching transactions`(index: Int) async throws {
        let stage = try Stage(shop: TableShop.file())
        try await stage.buy("pro")
        let gem = try await stage.buy("gem")
        try await stage.buy("map")
        try await stage.buy("season")
        try await stage.advance("P1M")
        try await stage.simulator.change(transaction: gem.transactionID, .refund())
        let (query, count) = Self.filters[index]
        let json = try await stage.json(Ask("GET v2/history/\(gem.transactionID)", query))
        #expect(json["signedTransactions"]?.array?.count == count, "\(query)")
    }

    @Test func `version 1 of the history omits finished consumables`() async throws {
        let (stage, _, ids) = try await stage(gems: 2)
        let line = "GET v1/history/\(ids[0])"
        #expect(try await pages(stage, line).ids == [ids])
        _ = try await stage.json(Ask("POST v1/transactions/\(ids[0])/finish"))
        #expect(try await pages(stage, line).ids == [[ids[1]]])
        #expect(try await pages(stage, "GET v2/history/\(ids[0])").ids == [ids])
        try await stage.simulator.change(transaction: ids[0], .refund())
        #expect(try await pages(stage, line).ids.first?.count == 2)
    }

    @Test func `refunds are listed in the order of their dates, in pages of twenty`() async throws {
        let (stage, _, ids) = try await stage(gems: 23)
        for id in ids.reversed() { try await stage.simulator.change(transaction: id, .refund()) }
        try await stage.advance("P1D")
        let pro = try await stage.buy("pro")
        try await stage.simulator.change(pro.originalTransactionID, .changeProduct("premium"))
        let found = try await pages(stage, "GET v2/refund/lookup/\(ids[0])")
        #expect(found.ids.map(\.count) == [20, 3])
        #expect(Set(found.ids.flatMap(\.self)) == Set(ids))
        let first = try await stage.json(Ask("GET v1/refund/lookup/\(ids[0])"))
        #expect(first["signedTransactions"]?.array?.count == 23)
        #expect(first["revision"] == nil)
    }

    @Test func `an order is found by the customer's order number`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        let order = OrderID.text(of: id)
        #expect(order.count == 11 && order.hasPrefix("M"))
        let json = try await stage.json(Ask("GET v1/lookup/\(order)"))
        #expect(json["status"] == 0)
        #expect(try stage.transactions(json).map(\.transactionId) == [id])
        let other = try await stage.json(Ask("GET v1/lookup/M00000000ZZ"))
        #expect(other == ["status": 1])
    }

    @Test func `a history of the sandbox does not contain the app's Apple id`() async throws {
        let stage = try Stage()
        try await stage.simulator.addDevice(account: "box", environment: .sandbox)
        let bought = try await stage.simulator.purchase(PurchaseOrder("pro.monthly"), on: "box-1")
        let line = "GET v2/history/\(bought.transactionID)"
        let json = try await stage.json(Ask(line, in: .sandbox))
        #expect(json["appAppleId"] == nil)
        #expect(json["environment"] == "Sandbox" && json["bundleId"] == "com.example.birds")
    }
}
