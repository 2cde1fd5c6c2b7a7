import AppStoreFormats
import Testing

@testable import Simulator

/// A device without a network, with a slow network, and behind a captive portal.
@Suite(.timeLimit(.minutes(5))) struct DeviceNetworkTests {
    private let device = "/_sim/devices/anna-1"

    @Test(arguments: [("offline", Int64(-1009)), ("captive", -1200)])
    func `without a network, calls to the App Store fail and cached data stays readable`(
        state: String, urlError: Int64
    ) async throws {
        let stage = try Stage(shop: try CatShop.file())
        try await stage.buy("pro.monthly", offer: "none")
        try await stage.buy("gem")
        let device = device
        try await stage.withClient { client in
            let network = try await client.json("\(device)/network", #"{"state":"\#(state)"}"#)
            #expect(network["state"]?.string == state)
            let calls: [(String, String?)] = [
                ("/_sim/products?device=anna-1", nil), ("\(device)/products", nil),
                ("\(device)/sync", "{}"),
                ("\(device)/restore", "{}"), ("\(device)/app-transaction/refresh", "{}"),
            ]
            for (path, body) in calls {
                let failed = try await client.json(path, body, status: 503)
                #expect(failed["code"] == "storekit_error" && failed["error"] == "network_error")
                #expect(failed["url_error"]?.integer == urlError)
            }
            let bought = try await client.json(
                "\(device)/purchases", #"{"product_id":"gem"}"#)
            #expect(
                bought == [
                    "result": "failed", "error": "network_error", "url_error": .integer(urlError),
                ])
            // The purchase shows no sheet.
            #expect(try await client.json("\(device)/prompts")["prompts"] == [])
            // The subscription renews, but the device does not learn of it.
            try await stage.advance("P1M")
            for (path, count) in [("transactions", 2), ("unfinished", 2), ("entitlements", 0)] {
                let list = try await client.json("\(device)/\(path)")["signed_transactions"]
                #expect(list?.array?.count == count, "\(path)")
            }
            #expect(try await client.json("\(device)/statuses")["statuses"]?.array?.count == 1)
            _ = try await client.json("\(device)/app-transaction")
            _ = try await client.json("\(device)/storefront")
            _ = try await client.json("\(device)/network", #"{"state":"online"}"#)
            let open = try await client.json("\(device)/entitlements")["signed_transactions"]
            #expect(open?.array?.count == 1)
        }
    }

    @Test func `a document has the same bytes when it is read again without a network`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly")
        try await stage.simulator.setNetwork(.offline, slowSeconds: nil, on: "anna-1")
        try await stage.advance("P1D")
        var payloads: [TransactionPayload] = []
        for _ in 0..<2 {
            let signed = try await stage.simulator.transactions(on: "anna-1")[0]
            payloads.append(try decode(TransactionPayload.self, signed))
        }
        #expect(payloads[0] == payloads[1])
        let signed = try require(payloads[0].signedDate, "no date")
        #expect(try signed < moment("2026-01-11T00:00:00Z"))
    }

    @Test func `without a network the app transaction keeps its creation date`() async throws {
        let stage = try Stage()
        let simulator = stage.simulator
        try await simulator.addDevice(account: "anna")
        try await simulator.setNetwork(.offline, slowSeconds: nil, on: "anna-1")
        try await stage.advance("P1D")
        func created() async throws -> AppStoreDate {
            let signed = try await simulator.appTransaction(on: "anna-1")
            return try require(
                try decode(AppTransactionPayload.self, signed).receiptCreationDate, "no date")
        }
        #expect(try await created() < moment("2026-01-11T00:00:00Z"))
        try await simulator.setNetwork(.online, slowSeconds: nil, on: "anna-1")
        #expect(try await created() >= moment("2026-01-11T00:00:00Z"))
    }

    @Test func `if an app starts offline, it gets the missed updates when the network is back`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly", offer: "none")
        let simulator = stage.simulator
        let id = try await stage.truth().originalTransactionID
        try await simulator.finish(id, on: "anna-1")
        try await simulator.setNetwork(.offline, slowSeconds: nil, on: "anna-1")
        try await stage.advance("P1M")
        let stream = try await simulator.updates(on: "anna-1", limit: 3)
        await simulator.appendEvent("marker", [:], to: "anna-1")
        try await simulator.setNetwork(.online, slowSeconds: nil, on: "anna-1")
        var names: [String] = []
        for await event in stream { names.append(event.name) }
        #expect(names == ["transaction", "status", "marker"])
    }

    @Test func `when the network is back, a device gets the updates that it missed offline`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.monthly", offer: "none")
        let simulator = stage.simulator
        let id = try await stage.truth().originalTransactionID
        try await simulator.finish(id, on: "anna-1")
        let stream = try await simulator.updates(on: "anna-1", limit: 3)
        try await simulator.setNetwork(.offline, slowSeconds: nil, on: "anna-1")
        try await stage.advance("P1M")
        await simulator.appendEvent("marker", [:], to: "anna-1")
        try await simulator.setNetwork(.online, slowSeconds: nil, on: "anna-1")
        var names: [String] = []
        for await event in stream { names.append(event.name) }
        #expect(names == ["transaction", "status", "marker"])
    }

    @Test
    func `when the network is back, transactions finished offline are finished on all devices`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        let simulator = stage.simulator
        try await simulator.addDevice(account: "anna")
        try await simulator.setNetwork(.offline, slowSeconds: nil, on: "anna-1")
        try await simulator.finish(id, on: "anna-1")
        #expect(try await simulator.unfinished(on: "anna-1").isEmpty)
        #expect(try await simulator.unfinished(on: "anna-2").count == 1)
        try await simulator.setNetwork(.online, slowSeconds: nil, on: "anna-1")
        #expect(try await simulator.unfinished(on: "anna-2").isEmpty)
    }

    @Test func `a slow network delays only the calls to the App Store`() async throws {
        let stage = try Stage()
        try await stage.simulator.addDevice(account: "anna")
        let device = device
        try await stage.withClient { client in
            func time(_ path: String) async throws -> Duration {
                try await ContinuousClock().measure { _ = try await client.json(path) }
            }
            _ = try await client.json(
                "\(device)/network", #"{"state":"slow","slow_seconds":0.2}"#)
            #expect(try await time("/_sim/products?device=anna-1") >= .milliseconds(200))
            let refused = try await client.json(
                "\(device)/network", #"{"state":"slow","slow_seconds":61}"#, status: 400)
            #expect(refused["code"] == "bad_request")
            _ = try await client.json("\(device)/network", #"{"state":"slow","slow_seconds":60}"#)
            #expect(try await time("\(device)/entitlements") < .seconds(60))
        }
    }
}
