import AppStoreFormats
import Testing

@testable import Simulator

@Suite struct AdvancedCommerceTests {
    private static let reference = "758883e8-151b-47b7-abd0-60c4d804c2f"

    /// Makes a request whose identifier ends with a digit from 0 to 9.
    private func ask(_ path: String, _ number: Int, _ members: [JSON.Member] = []) -> Ask {
        let about: JSON = ["requestReferenceId": .string(Self.reference + String(number))]
        var ask = Ask("POST v1/\(path)", body: .object([.init("requestInfo", about)] + members))
        ask.root = AdvancedCommerceEndpoints.root
        return ask
    }

    private func name(_ json: JSON) throws -> String? {
        let renewal = try decode(
            RenewalPayload.self, require(json["signedRenewalInfo"]?.string, "none"))
        return renewal.advancedCommerceInfo?.descriptors?.displayName
    }

    @Test func `a subscription is migrated, renamed, repriced, cancelled and revoked`()
        async throws
    {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        let named = [JSON.Member("descriptors", ["displayName": "Birds", "description": "All"])]
        let migrated = try await stage.json(ask("subscription/migrate/\(id)", 0, named))
        #expect(try name(migrated) == "Birds")
        let renamed = [JSON.Member("descriptors", ["displayName": "More birds"])]
        let after = try await stage.json(ask("subscription/changeMetadata/\(id)", 1, renamed))
        #expect(try name(after) == "More birds")
        let priced = [JSON.Member("items", [["SKU": "birds", "price": 11_990]])]
        _ = try await stage.json(ask("subscription/changePrice/\(id)", 2, priced))
        _ = try await stage.json(ask("subscription/cancel/\(id)", 3))
        let refund = [JSON.Member("refundType", "FULL"), .init("refundReason", "LEGAL")]
        let revoked = try await stage.json(ask("subscription/revoke/\(id)", 4, refund))
        let transaction = try decode(
            TransactionPayload.self, require(revoked["signedTransactionInfo"]?.string, "none"))
        #expect(transaction.revocationDate != nil && transaction.revocationType == nil)
        let item = try require(transaction.advancedCommerceInfo?.items?.first, "no item")
        #expect(item.revocationDate == transaction.revocationDate)
        #expect(item.refunds?.map(\.refundType) == ["FULL"])
        #expect(item.refunds?.map(\.refundAmount) == [transaction.price])
        let types = await stage.simulator.notifications.map(\.draft.type.rawValue)
        #expect(
            types == [
                "SUBSCRIBED", "MIGRATION", "METADATA_UPDATE", "PRICE_CHANGE",
                "DID_CHANGE_RENEWAL_STATUS", "REFUND",
            ])
    }

    @Test(arguments: [
        ("FULL", nil, 100_000), ("CUSTOM", 4995, 50_000),
    ])
    func `an Advanced Commerce refund is full or of a given amount`(
        type: String, amount: Int64?, percentage: Int64
    ) async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        let part: JSON = [
            "SKU": "birds", "refundType": .string(type), "refundReason": "OTHER",
            "refundAmount": amount.map { .integer($0) } ?? .null, "revoke": true,
        ]
        let json = try await stage.json(
            ask("transaction/requestRefund/\(id)", 0, [.init("items", [part])]))
        let transaction = try decode(
            TransactionPayload.self, require(json["signedTransactionInfo"]?.string, "none"))
        #expect(transaction.revocationPercentage == percentage)
    }

    @Test func `a migrated subscription names the subscription that it replaced`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        _ = try await stage.json(ask("subscription/migrate/\(id)", 0))
        try await stage.advance("P1M")
        let previous = try await stage.letters().map {
            $0.transaction.previousOriginalTransactionId
        }
        #expect(previous == [nil, id, id])
    }

    @Test func `a request can simulate that a refund is declined`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").transactionID
        let part: JSON = ["refundType": "FULL", "refundReason": "SIMULATE_REFUND_DECLINE"]
        _ = try await stage.json(
            ask("transaction/requestRefund/\(id)", 0, [.init("items", [part])]))
        #expect(await stage.simulator.notifications.last?.draft.type == .refundDeclined)
    }

    @Test func `each invalid Advanced Commerce request is refused with its error number`()
        async throws
    {
        let stage = try Stage(shop: TableShop.file())
        let id = try await stage.buy("pro").transactionID
        let gem = try await stage.buy("gem").transactionID
        let long = JSON.string(String(repeating: "a", count: 46))
        _ = try await stage.json(ask("subscription/cancel/\(id)", 0))
        var nameless = Ask("POST v1/subscription/cancel/\(id)", body: [:])
        nameless.root = AdvancedCommerceEndpoints.root
        let rows: [(Ask, Int64)] = [
            (nameless, 4_000_079),
            (ask("subscription/cancel/\(id)", 0), 4_000_097),
            (ask("subscription/cancel/\(gem)", 1), 4_000_006),
            (ask("subscription/changePrice/\(id)", 2), 4_000_101),
            (
                ask("subscription/changePrice/\(id)", 3, [.init("items", [["price": -1]])]),
                4_000_086
            ),
            (
                ask("subscription/migrate/\(id)", 4, [.init("descriptors", ["description": long])]),
                4_000_088
            ),
            (
                ask("subscription/migrate/\(id)", 5, [.init("descriptors", ["displayName": long])]),
                4_000_089
            ),
            // The subscription was not migrated, so it has no Advanced Commerce item to change.
            (ask("subscription/changeMetadata/\(id)", 6), 4_000_000),
        ]
        for (ask, code) in rows {
            #expect(try await stage.refusal(ask) == Refused(400, code), "\(ask.line)")
        }
        let absent = try await stage.refusal(ask("subscription/cancel/1", 7))
        #expect(absent == Refused(404, 4_040_010))
    }
}
