import AppStoreFormats
import Eventually
import Hummingbird
import HummingbirdTesting
import NIOCore
import NIOPosix
import Testing

@testable import Simulator

/// The stream of updates as an app uses it: the app reconnects, and starts again.
@Suite(.timeLimit(.minutes(5))) struct UpdateStreamTests {
    private let device = "/_sim/devices/anna-1"

    /// The values of one field in the text of an event stream.
    private static func values(_ field: String, _ text: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix("\(field): ") }.map {
            String($0.dropFirst(field.count + 2))
        }
    }

    /// The products and purchase dates that are announced when the app starts.
    private func news(_ stage: Stage, on device: String) async throws -> [String] {
        let first = try await stage.simulator.updateStream(on: device, limit: nil).first
        return try first.map { event in
            let signed = event.content["signed_transaction"]?.string ?? ""
            let bought = try decode(TransactionPayload.self, signed).purchaseDate
            return String(RFC3339.text(try require(bought, "no date")).prefix(10))
        }
    }

    @Test func `a stream continues after the event whose id the client sends`()
        async throws
    {
        let stage = try Stage(shop: try CatShop.file())
        for product in ["gem", "gem", "book"] { try await stage.buy(product) }
        let device = device
        try await stage.withClient { client in
            let (_, first) = try await client.text("\(device)/updates?limit=3")
            let ids = Self.values("id", first)
            #expect(ids.count == 3 && Set(ids).count == 3)
            #expect(ids.compactMap { Int64($0) } == ids.compactMap { Int64($0) }.sorted())
            // Nobody listens while the device gets an update.
            await stage.simulator.appendEvent("storefront", ["country_code": "DEU"], to: "anna-1")
            let (_, rest) = try await client.text(
                "\(device)/updates?limit=3", lastEventID: ids[0])
            #expect(Self.values("event", rest) == ["transaction", "transaction", "storefront"])
            #expect(Self.values("id", rest).prefix(2) == ids.suffix(2))
            // An unknown id starts the stream anew.
            let (_, anew) = try await client.text(
                "\(device)/updates?limit=3", lastEventID: "999999")
            #expect(Self.values("event", anew) == Array(repeating: "transaction", count: 3))
        }
    }

    @Test func `messages and purchase intents come with the updates, each once`() async throws {
        let stage = try Stage(shop: try CatShop.file())
        let device = device
        try await stage.buy("gem")
        try await stage.withClient { client in
            _ = try await client.json("\(device)/messages", #"{"reason": "generic"}"#)
            let (_, first) = try await client.text("\(device)/updates?limit=1")
            let last = try require(Self.values("id", first).last, "no id")
            for _ in 1...2 { _ = try await client.json("\(device)/messages", "{}") }
            _ = try await client.json(
                "\(device)/purchase-intents", #"{"product_id": "book"}"#)
            let (_, rest) = try await client.text("\(device)/updates?limit=3", lastEventID: last)
            #expect(Self.values("event", rest) == ["message", "message", "purchase_intent"])
            #expect(rest.contains("generic-2") && !rest.contains("generic-1"))
            #expect(rest.contains("intent-") && rest.contains("book"))
        }
    }

    @Test func `an event id of an earlier world starts the stream from the beginning`() async throws
    {
        let stage = try Stage(shop: try CatShop.file())
        try await stage.buy("gem")
        let device = device
        try await stage.withClient { client in
            let (_, old) = try await client.text("\(device)/updates?limit=1")
            let id = try require(Self.values("id", old).first, "no id")
            _ = try await client.json("/_sim/reset", "{}")
            try await stage.buy("book")
            let (_, new) = try await client.text("\(device)/updates?limit=1", lastEventID: id)
            #expect(Self.values("event", new) == ["transaction"])
        }
    }

    @Test func `an update stream cannot continue from events that are no longer kept`() async throws
    {
        let stage = try Stage()
        try await stage.simulator.addDevice(account: "anna")
        let stream = try await stage.simulator.updateStream(on: "anna-1", limit: 1)
        await stage.simulator.appendEvent("first", [:], to: "anna-1")
        var id: Int64?
        for await event in stream.events { id = event.id }
        let last = try String(require(id, "no id"))
        func resumes() async throws -> Bool {
            let first = try await stage.simulator.updateStream(
                on: "anna-1", limit: 1, after: last
            ).first
            return first.count == 1
        }
        await stage.simulator.appendEvent("second", [:], to: "anna-1")
        #expect(try await resumes())
        for _ in 0...UpdateListeners.keptMax {
            await stage.simulator.appendEvent("more", [:], to: "anna-1")
        }
        #expect(try await !resumes())
    }

    @Test func `an update stream without events sends comments, which keep the connection open`()
        async throws
    {
        let stage = try Stage()
        try await stage.simulator.addDevice(account: "anna")
        await stage.simulator.addComments(every: .milliseconds(5))
        let device = device
        try await stage.withClient { client in
            async let text = client.text("\(device)/updates?limit=1").1
            try await eventually("the stream listens") { await stage.simulator.listeners.count > 0 }
            // Virtual time passes without an event, even on a busy machine.
            try await Task.sleep(for: .seconds(3))
            await stage.simulator.appendEvent("last", [:], to: "anna-1")
            let received = try await text
            #expect(received.contains(": nothing new\n\n"))
            #expect(Self.values("event", received) == ["last"])
        }
    }

    @Test func `a renewal that was finished on the phone is announced once on the iPad`()
        async throws
    {
        let stage = try Stage()
        let simulator = stage.simulator
        for _ in 1...2 { try await simulator.addDevice(account: "anna") }
        let bought = try await stage.buy("pro.monthly", offer: "none").transactionID
        try await simulator.finish(bought, on: "anna-1")
        try await stage.advance("P1M")
        for signed in try await simulator.unfinished(on: "anna-1") {
            let id = try decode(TransactionPayload.self, signed).transactionId
            try await simulator.finish(require(id, "no id"), on: "anna-1")
        }
        #expect(try await simulator.unfinished(on: "anna-2").isEmpty)
        #expect(try await news(stage, on: "anna-2") == ["2026-01-10", "2026-02-10"])
        #expect(try await news(stage, on: "anna-2") == [])
        // The phone gets only updates that its own purchase call did not return.
        #expect(try await news(stage, on: "anna-1") == ["2026-02-10"])
        // A refund is announced again.
        try await simulator.change(transaction: bought, .refund())
        #expect(try await news(stage, on: "anna-2") == ["2026-01-10"])
        // A device that is added later gets no finished transactions.
        try await simulator.addDevice(account: "anna")
        #expect(try await news(stage, on: "anna-3") == [])
    }

    @Test
    func `if an app's connection has ended, later events are announced at the app's next start`()
        async throws
    {
        let stage = try Stage(shop: try CatShop.file())
        let simulator = stage.simulator
        for _ in 1...2 { try await simulator.addDevice(account: "anna") }
        let device = device
        try await Application(router: simulator.router()).test(.live) { client in
            let connection = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(host: "127.0.0.1", port: try require(client.port, "no port")).get()
            let head = "GET \(device)/updates HTTP/1.1\r\nHost: localhost\r\n\r\n"
            try await connection.writeAndFlush(ByteBuffer(string: head))
            try await eventually("the device is reachable") { await simulator.reaches("anna-1") }
            try await connection.close()
            try await eventually("the device is unreachable") { await !simulator.reaches("anna-1") }
        }
        let bought = try await stage.buy("gem", on: "anna-2").transactionID
        try await simulator.finish(bought, on: "anna-2")
        #expect(try await news(stage, on: "anna-1").count == 1)
    }

    @Test func `with finish_counts_per_device, finishing on one device has no effect on others`()
        async throws
    {
        let cases: [(Set<Quirk>, Int)] = [([], 0), ([.finishCountsPerDevice], 1)]
        for (quirks, left) in cases {
            let stage = try Stage { $0.quirks = quirks }
            try await stage.simulator.addDevice(account: "anna")
            try await stage.simulator.addDevice(account: "anna")
            let id = try await stage.buy("pro.monthly").transactionID
            try await stage.simulator.finish(id, on: "anna-1")
            #expect(try await stage.simulator.unfinished(on: "anna-1").isEmpty)
            #expect(try await stage.simulator.unfinished(on: "anna-2").count == left)
        }
    }

    @Test
    func `with the habit own_purchases_announced, a device announces purchases outside views`()
        async throws
    {
        let cases: [(Set<Quirk>, Bool, [String])] = [
            ([], false, ["status"]),
            ([.ownPurchasesAnnounced], false, ["transaction", "status"]),
            ([.ownPurchasesAnnounced], true, ["status"]),
        ]
        for (quirks, isInView, expected) in cases {
            let stage = try Stage(shop: try CatShop.file()) { $0.quirks = quirks }
            try await stage.simulator.addDevice(account: "anna")
            let stream = try await stage.simulator.updates(on: "anna-1", limit: nil)
            var order = PurchaseOrder("pro.monthly", offerID: "none")
            order.isInView = isInView
            try await stage.simulator.purchase(order, on: "anna-1")
            try await stage.buy("gem")
            try await stage.simulator.reset(stage.simulator.settings)
            var names: [String] = []
            for await event in stream { names.append(event.name) }
            #expect(names == expected)
        }
    }
}

extension AppStoreSimulator {
    /// Returns whether an event reaches an app that listens on the device.
    fileprivate func reaches(_ deviceID: String) -> Bool {
        listeners.append(ServerSentEvent(name: "probe", content: [:]), to: deviceID)
    }

    fileprivate func addComments(every interval: Duration) {
        streamLimits.commentPause = interval
        streamLimits.tickPause = interval
    }
}
