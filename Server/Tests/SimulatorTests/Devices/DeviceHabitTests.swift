import AppStoreFormats
import Testing

@testable import Simulator

/// Behaviour of devices that StoreKit's documentation does not mention. Each habit can be switched
/// off. Some tests are about what a device's lists contain besides documents.
@Suite struct DeviceHabitTests {
    private let device = "/_sim/devices/anna-1"

    private func stage() async throws -> Stage {
        let stage = try Stage(shop: try CatShop.file())
        try await stage.simulator.addDevice(account: "anna")
        return stage
    }

    private func count(_ client: StageClient, _ list: String) async throws -> Int {
        let answer = try await client.json("\(device)/\(list)")
        return (answer["signed_transactions"] ?? answer["statuses"] ?? answer["products"])?.array?
            .count ?? -1
    }

    @Test func `a finished consumable is marked as finished, unless it was refunded`() async throws
    {
        let stage = try await stage()
        var gems: [String] = []
        for _ in 0..<3 { gems.append(try await stage.buy("gem").transactionID) }
        let book = try await stage.buy("book").transactionID
        for id in [gems[0], gems[1], book] {
            try await stage.simulator.finish(id, on: "anna-1")
        }
        try await stage.simulator.change(transaction: gems[1], .refund())
        let (device, marked) = (device, gems[0])
        try await stage.withClient { client in
            let answer = try await client.json(device + "/transactions")
            #expect(answer["finished_consumables"] == [.string(marked)])
            #expect(answer["signed_transactions"]?.array?.count == 4)
        }
    }

    @Test func `the statuses of one subscription group can be read`() async throws {
        let stage = try await stage()
        try await stage.buy("pro.monthly")
        let device = device
        try await stage.withClient { client in
            let all = try await client.json(device + "/statuses")["statuses"]?.array ?? []
            #expect(all.map { $0["group_id"] } == ["cats"])
            #expect(try await count(client, "statuses?group=cats") == 1)
            #expect(try await count(client, "statuses?group=dogs") == 0)
        }
    }

    @Test func `with the calendar habit, a device without a Gregorian calendar lists nothing`()
        async throws
    {
        let stage = try await stage()
        try await stage.buy("book")
        let device = device
        try await stage.withClient { client in
            _ = try await client.json(device + "/settings", #"{"calendar":"buddhist"}"#)
            #expect(try await count(client, "entitlements") == 1)
            let habit = DeviceHabit.emptyEntitlementsInOtherCalendars.rawValue
            _ = try await client.json(device + "/habits", #"{"\#(habit)":true}"#)
            #expect(try await count(client, "entitlements") == 0)
            #expect(try await count(client, "transactions") == 1)
            _ = try await client.json(device + "/settings", #"{"calendar":"gregorian"}"#)
            #expect(try await count(client, "entitlements") == 1)
        }
    }

    @Test func `with the habit stale_statuses, statuses stay as they are until the next launch`()
        async throws
    {
        let stage = try await stage()
        try await stage.buy("pro.monthly", offer: "none")
        let device = device
        try await stage.withClient { client in
            func status() async throws -> JSON? {
                try await client.json(device + "/statuses")["statuses"]?.array?.first?["status"]
            }
            _ = try await client.json(device + "/habits", #"{"stale_statuses":true}"#)
            #expect(try await status() == 1)
            _ = try await client.json("/_sim/subscriptions/anna:pro.monthly/cancel", "{}")
            try await stage.advance("P2M")
            #expect(try await status() == 1)
            _ = try await client.json(device + "/launch", "{}")
            #expect(try await status() == 2)
        }
    }

    @Test func `with returns_first_non_renewing, a second purchase returns the first transaction`()
        async throws
    {
        let stage = try await stage()
        let first = try await stage.buy("pass").transactionID
        #expect(try await stage.buy("pass").transactionID != first)
        let device = device
        try await stage.withClient { client in
            let body = #"{"returns_first_non_renewing":true}"#
            _ = try await client.json(device + "/habits", body)
        }
        #expect(try await stage.buy("pass").transactionID == first)
        // The purchase is charged and listed all the same.
        #expect(try await stage.simulator.transactions(on: "anna-1").count == 3)
    }

    @Test func `with the habit empty_products, the list of products is empty`()
        async throws
    {
        let stage = try await stage()
        let device = device
        try await stage.withClient { client in
            #expect(try await count(client, "products") == 6)
            _ = try await client.json(device + "/habits", #"{"empty_products":true}"#)
            #expect(try await count(client, "products") == 0)
        }
    }

    @Test func `a test can set how many reads after a launch return nothing`() async throws {
        let stage = try await stage()
        try await stage.buy("pro.monthly")
        let device = device
        try await stage.withClient { client in
            let state = try await client.json(device + "/habits", #"{"empty_reads_at_launch":3}"#)
            #expect(state["empty_reads_left"] == 3)
            for list in ["entitlements", "statuses", "products"] {
                #expect(try await count(client, list) == 0)
            }
            #expect(try await count(client, "entitlements") == 1)
            _ = try await client.json(device + "/launch", "{}")
            #expect(try await count(client, "transactions") == 0)
            for body in [#"{"empty_reads_at_launch":-1}"#, #"{"no_such_habit":true}"#] {
                _ = try await client.json(device + "/habits", body, status: 400)
            }
        }
    }
}
