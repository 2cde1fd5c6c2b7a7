import AppStoreFormats
import Engine
import Ledger
import Testing

@testable import Simulator

/// A subscription continues under another original transaction id.
@Suite(.serialized) struct SuccessionStories {
    /// The documents that the App Store signs when it gives a chain of renewals another number.
    private static func renumbered(
        _ jws: String, as original: String, by authority: SigningAuthority,
        _ change: (inout TransactionPayload) -> Void = { _ in }
    ) throws -> (original: String, jws: String) {
        let json = try JSON(parsing: try #require(CompactJWS(jws)?.payload))
        var payload = try #require(TransactionPayload(json: json))
        let previous = try #require(payload.originalTransactionId)
        payload.previousOriginalTransactionId = previous
        (payload.originalTransactionId, payload.transactionId) = (original, original)
        payload.webOrderLineItemId = (payload.webOrderLineItemId ?? "") + "9"
        change(&payload)
        return (previous, try authority.sign(payload))
    }

    private static let number = "299000000000001"
    private static let renumbered = PurchaseID(TransactionID(rawValue: number), in: .production)

    /// The customers of the purchase under its new number, according to the event log.
    private static func owners(_ shop: Shop) async throws -> [CustomerID?] {
        try await shop.engine.events.list(of: "birds", after: 0, limit: 100)
            .filter { $0.entry.purchase == renumbered && $0.entry.change.kind == .linked }
            .map(\.entry.customer)
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if a subscription gets a new id, it stays with its owner whoever posts it first`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            try await stage.play(.buy("pro.monthly")) { _ in }
            let device = try await shop.simulator.post("/_sim/devices/\(Stage.device)/restore")
            let jws = try #require(device["signed_transactions"]?.array?.last?.string)
            let (_, again) = try Self.renumbered(jws, as: Self.number, by: shop.authority)
            // Another person has a copy of the successor and posts it first.
            let posting: JSON = ["customer_id": "ben", "signed_transactions": [.string(again)]]
            let answer = try await shop.server.send("POST", "/v1/purchases", body: posting.bytes)
            #expect(answer.status == 409)
            #expect(try await Self.owners(shop) == ["anna"])
            let anna = try await shop.server.get("/v1/customers/anna")
            #expect(anna["subscriptions"]?.array?.count == 2)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if a subscription gets a new id, it goes to the customer in the old purchase's token`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let anna = "7d0a5f6c-9a51-4a0e-8a53-1f2b3c4d5e6f"
            try await shop.support.post(
                "/v1/customers/\(anna)/aliases", ["customer_id": "anna@example.com"])
            let signed = try await shop.buyMonth("anna", token: anna).text("signed_transaction")
            let (_, again) = try Self.renumbered(signed, as: Self.number, by: shop.authority) {
                $0.appAccountToken = nil
            }
            // Another person has a copy of the successor and posts it first.
            let posting: JSON = ["customer_id": "ben", "signed_transactions": [.string(again)]]
            let answer = try await shop.server.send("POST", "/v1/purchases", body: posting.bytes)
            #expect(answer.status == 409)
            #expect(try await Self.owners(shop) == [CustomerID(rawValue: anna)])
        }
    }

    @Test
    func `if a subscription gets a new id and a customer's token, it goes to that customer`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            try await stage.play(.buy("pro.monthly")) { _ in }
            let device = try await shop.simulator.post("/_sim/devices/\(Stage.device)/restore")
            let jws = try #require(device["signed_transactions"]?.array?.last?.string)
            let ben = "0b8e9a34-58d4-4c1b-9d56-3f3c3a1f0b11"
            let (_, again) = try Self.renumbered(jws, as: Self.number, by: shop.authority) {
                $0.appAccountToken = ben
            }
            try await shop.server.post(
                "/v1/purchases",
                ["customer_id": .string(ben), "signed_transactions": [.string(again)]])
            #expect(try await Self.owners(shop) == [CustomerID(rawValue: ben)])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the buyer of a stolen subscription can restore it after the subscription gets a new id`(
        database: StoryDatabase
    ) async throws {
        let phone = "anon_" + String(repeating: "a", count: 32)
        try await withShop(on: database) { shop in
            func post(_ signed: String, as customer: String) async throws -> Int {
                let body: JSON = [
                    "customer_id": .string(customer), "intent": "restore",
                    "signed_transactions": [.string(signed)],
                ]
                let answer = try await shop.server.send(
                    "POST", "/v1/purchases", body: body.bytes)
                return answer.status
            }
            func replaced() async throws -> String {
                try await shop.simulator.post("/_sim/clock", ["advance": "PT1M"])
                let device = try await shop.simulator.post("/_sim/devices/anna-1/restore")
                let jws = try #require(device["signed_transactions"]?.array?.last?.string)
                return try Self.renumbered(jws, as: Self.number, by: shop.authority).jws
            }
            let copy = try await shop.buyMonth("anna").text("signed_transaction")
            #expect(try await post(copy, as: phone) == 200)
            #expect(try await post(copy, as: "thief") == 200)
            let first = try await replaced()
            #expect(try await post(first, as: "somebody") == 409)
            #expect(try await Self.owners(shop) == ["thief"])
            #expect(try await post(first, as: phone) == 409)
            #expect(try await post(replaced(), as: phone) == 200)
            #expect(try await post(first, as: "thief") == 409)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }
}
