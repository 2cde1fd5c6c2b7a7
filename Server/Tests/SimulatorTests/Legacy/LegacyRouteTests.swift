import AppStoreFormats
import Hummingbird
import HummingbirdTesting
import Testing

@testable import Simulator

/// Receipts and version 1 notifications over HTTP.
@Suite struct LegacyRouteTests {
    private struct Client {
        let client: any TestClientProtocol

        func answer(_ path: String, _ body: String? = nil) async throws -> TestResponse {
            let method: HTTPRequest.Method = body == nil ? .get : .post
            let buffer = body.map { ByteBuffer(string: $0) }
            return try await client.execute(uri: path, method: method, body: buffer) { $0 }
        }

        func text(_ path: String, _ body: String? = nil) async throws -> String {
            String(buffer: try await answer(path, body).body)
        }

        func json(_ path: String, _ body: String? = nil) async throws -> JSON {
            try JSON(parsing: try await text(path, body).utf8)
        }
    }

    private func withClient(
        _ stage: Stage, _ test: @escaping @Sendable (Client) async throws -> Void
    ) async throws {
        let app = Application(router: stage.simulator.router())
        try await app.test(.router) { try await test(Client(client: $0)) }
    }

    private static let secret = SimulatorSettings.wellKnownSecret

    @Test func `verifyReceipt accepts a receipt from a purchase, a restore or a device`()
        async throws
    {
        try await withClient(try Stage()) { client in
            _ = try await client.json("/_sim/devices", #"{"account":"anna"}"#)
            let device = "/_sim/devices/anna-1"
            let bought = try await client.text(
                "\(device)/purchases?only=app_receipt", #"{"product_id":"pro.monthly"}"#)
            let restored = try await client.text("\(device)/restore?only=app_receipt", "{}")
            let shown = try await client.json("\(device)/receipt")
            #expect(bought == restored && shown["app_receipt"]?.string == bought)
            #expect(shown["device_guid"]?.string?.count == 36)
            let body = #"{"receipt-data":"\#(bought)","password":"\#(Self.secret)"}"#
            let answer = try await client.answer("/verifyReceipt", body)
            #expect(answer.status == .ok && answer.headers[.contentType] == nil)
            let json = try JSON(parsing: String(buffer: answer.body).utf8)
            #expect(json["status"] == 0 && json["latest_receipt_info"]?.array?.count == 1)
            let sandbox = try await client.text("/sandbox/verifyReceipt", body)
            #expect(sandbox == #"{"status":21008}"#)
        }
    }

    @Test(arguments: ["", "[", "[]", "1"])
    func `an invalid request to verifyReceipt is answered with status 21000 and HTTP 200`(
        body: String
    ) async throws {
        try await withClient(try Stage()) { client in
            for path in ["/verifyReceipt", "/sandbox/verifyReceipt"] {
                let answer = try await client.answer(path, body)
                #expect(answer.status == .ok)
                #expect(String(buffer: answer.body) == #"{"status":21000}"#)
                #expect(try await client.text(path) == #"{"status":21000}"#)
            }
        }
    }

    @Test func `the simulator returns a transaction's receipt in the format used before iOS 7`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        try await withClient(stage) { client in
            let text = try await client.text(
                "/_sim/transactions/\(id)/receipt?only=transaction_receipt")
            let body = #"{"receipt-data":"\#(text)","password":"\#(Self.secret)"}"#
            let answer = try await client.json("/verifyReceipt", body)
            #expect(answer["receipt"]?["transaction_id"]?.string == id)
            let unknown = try await client.json("/_sim/transactions/1/receipt")
            #expect(unknown["code"] == "unknown_transaction")
        }
    }

    @Test func `the receipt root is served, and is not the root of signed data`() async throws {
        let stage = try Stage()
        try await withClient(stage) { client in
            let served = try await client.answer("/_sim/receipt-root.cer").body
            let root = try stage.simulator.authority.receipts.rootDER
            #expect([UInt8](served.readableBytesView) == root && root != stage.simulator.rootDER)
        }
    }

    @Test func `a reset sets the shared secret, the digest and version 1 of notifications`()
        async throws
    {
        let stage = try Stage()
        try await withClient(stage) { client in
            _ = try await client.json(
                "/_sim/reset",
                #"""
                {"shared_secret":"geheim","receipt_digest":"sha1","v1_era":"2018",
                 "v1_notification_url":"http://box","notification_url":null}
                """#)
            _ = try await client.json("/_sim/devices", #"{"account":"anna"}"#)
            _ = try await client.json(
                "/_sim/devices/anna-1/purchases", #"{"product_id":"pro.monthly"}"#)
            let sent = try await client.json("/_sim/notifications")["notifications"]?.array
            #expect(sent?.map { $0["version"] } == ["2.0", "1.0"])
            #expect(sent?.last?["type"] == "INITIAL_BUY")
            #expect(sent?.last?["attempts"]?.array?.count == 1)
            #expect(sent?.last?["body"]?["password"] == "geheim")
            #expect(sent?.last?["body"]?["unified_receipt"] == nil)
            let wrong = try await client.json("/_sim/reset", #"{"v1_era":"2019"}"#)
            #expect(wrong["code"] == "bad_request")
        }
        let settings = await stage.simulator.settings
        #expect(settings.receiptDigest == .sha1 && settings.v1Era == .year2018)
        let text = try await stage.simulator.receipt(on: "anna-1")
        let file = try require(Base64.standard.decode(Array(text.utf8)), "no Base64")
        #expect(ReceiptEnvelope(parsing: file)?.digest == .sha1)
    }

    @Test func `a test notification is of version 2, even if only version 1 is enabled`()
        async throws
    {
        let stage = try Stage { settings in
            settings.notificationURL = nil
            settings.v1NotificationURL = "box"
        }
        try await withClient(stage) { client in
            _ = try await client.json("/_sim/notifications", #"{"type":"TEST"}"#)
        }
        #expect(stage.letterBox.count == 1)
        let posted = try require(stage.letterBox.bodies.first, "nothing posted")
        let body = try NotificationBody(parsing: posted)
        let payload = try decode(
            NotificationPayload.self, try require(body.signedPayload, "not signed"))
        #expect(payload.notificationType == .test)
    }

    @Test func `a status set for verifyReceipt is returned, and an invalid one is refused`()
        async throws
    {
        try await withClient(try Stage()) { client in
            let ordered = try await client.json(
                "/_sim/verify-receipt", #"{"status":21199,"is_retryable":false,"times":2}"#)
            #expect(ordered["ordered"] == 2)
            let text = #"{"environment":"Production","status":21199,"is-retryable":false}"#
            #expect(try await client.text("/verifyReceipt", "{}") == text)
            for body in [#"{"status":0}"#, "{}", #"{"status":21005,"times":1001}"#] {
                let refused = try await client.json("/_sim/verify-receipt", body)
                #expect(refused["code"] == "bad_request", "\(body)")
            }
        }
    }
}
