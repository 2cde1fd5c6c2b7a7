import AppStoreFormats
import Intake
import Ledger
import Testing

private let signed = AppStoreDate(milliseconds: 1_700_000_000_500)

private struct Unexpected: Error {}

private let whole: [String: JSON] = [
    "transactionId": "2", "originalTransactionId": "1", "webOrderLineItemId": "77",
    "bundleId": "com.example.birds", "productId": "pro.monthly",
    "purchaseDate": 1_700_000_000_000, "expiresDate": 1_702_592_000_000, "quantity": 1,
    "type": "Auto-Renewable Subscription", "inAppOwnershipType": "PURCHASED",
    "environment": "Production", "price": 9990, "currency": "USD",
]

private func payload(_ members: [String: JSON]) -> JSON {
    .object(members.filter { $0.value != .null }.map { JSON.Member($0.key, $0.value) })
}

/// The payment that a transaction attests, with some fields changed or (null) removed.
private func payment(_ changes: [String: JSON] = [:]) throws -> Payment {
    let transaction = try #require(
        TransactionPayload(json: payload(whole.merging(changes) { $1 })))
    guard case .payment(let payment) = try Intake.fact(of: transaction, signedAt: signed).statement
    else { throw Unexpected() }
    return payment
}

private func renewal(_ fields: [String: JSON]) throws -> Renewal {
    let payload = try #require(RenewalPayload(json: payload(fields)))
    guard case .renewal(let renewal) = try Intake.fact(of: payload, signedAt: signed).statement
    else { throw Unexpected() }
    return renewal
}

@Suite struct SeatIntakeTests {
    private static func tiers(_ tiers: (Int64, Int64)...) -> JSON {
        .array(tiers.map { ["price": .integer($0.0), "quantity": .integer($0.1)] })
    }

    private static func seats(
        _ count: Int64, average: Int64, _ tiers: JSON?, _ more: [String: JSON] = [:]
    ) throws -> Payment {
        var info: [JSON.Member] = [JSON.Member("invitationManagement", "DEVELOPER")]
        if let tiers { info.append(JSON.Member("priceTiers", tiers)) }
        for (key, value) in more where key == "revokedSeatQuantity" {
            info.append(JSON.Member(key, value))
        }
        var changes: [String: JSON] = [
            "quantity": .integer(count), "price": .integer(average), "multiSeatInfo": .object(info),
        ]
        changes.merge(more.filter { $0.key != "revokedSeatQuantity" }) { $1 }
        return try payment(changes)
    }

    /// Apple's own examples of tiers, and tiers that do not add up.
    @Test(
        arguments: [
            (50, 15_790, tiers((19_990, 20), (13_990, 20), (10_990, 10)), 789_500),
            (8, 9_240, tiers((9_990, 5), (7_990, 3)), 73_920),
            (7, 9_419, tiers((7_990, 2), (9_990, 5)), 65_930),
            (10, 9_990, nil, 99_900), (3, 9_990, tiers((9_990, 2)), 29_970),
            (3, 9_990, tiers((9_990, 4), (9_990, -1)), 29_970),
            (3, 9_990, tiers((-1, 3)), 29_970), (2, .max, nil, 1_000_000_000_000_000),
            (2, 0, tiers((.max, 2)), 1_000_000_000_000_000), (1, 9_990, tiers((9_990, 1)), 9_990),
        ] as [(Int64, Int64, JSON?, Int64)])
    func `the price of seats is the sum over their tiers`(
        count: Int64, average: Int64, tiers: JSON?, total: Int64
    ) throws {
        let payment = try Self.seats(count, average: average, tiers)
        #expect(payment.price?.milliunits == total)
        #expect(payment.quantity == Int(count))
        #expect(payment.seats?.invitations == .developer)
    }

    @Test(
        arguments: [
            (0, nil, nil, 73_920), (1, nil, nil, 65_930), (4, nil, nil, 39_960), (8, nil, nil, 0),
            (99, nil, nil, 0), (-3, nil, nil, 73_920), (2, 50_000, nil, 36_960),
            // This is a full refund: the revocation has its amount.
            (8, nil, 1_700_000_900_000, 73_920),
        ] as [(Int64, Int64?, Int64?, Int64)])
    func `a refund deducts the price of the cheapest seats, or the reported percentage`(
        refunded: Int64, percentage: Int64?, revokedAt: Int64?, left: Int64
    ) throws {
        var more: [String: JSON] = ["revokedSeatQuantity": .integer(refunded)]
        more["revocationPercentage"] = percentage.map(JSON.integer)
        more["revocationDate"] = revokedAt.map(JSON.integer)
        let payment = try Self.seats(
            8, average: 9_240, Self.tiers((9_990, 5), (7_990, 3)), more)
        #expect(payment.price?.milliunits == left)
        #expect((payment.revocation != nil) == (revokedAt != nil))
        #expect(payment.seats?.refunded == Int(min(max(0, refunded), 8)))
        if revokedAt != nil { #expect(payment.netAmount?.milliunits == 0) }
    }

    @Test func `an assigned seat counts as one seat and has no price`() throws {
        let payment = try Self.seats(
            8, average: 9_240, Self.tiers((9_240, 8)), ["inAppOwnershipType": "ASSIGNED"])
        #expect(payment.seats == nil && payment.quantity == 1)
        #expect(payment.netAmount == nil && payment.charge?.milliunits == 0)
    }

    @Test func `absurd numbers in a document give no price and no number of seats`() throws {
        #expect(try Self.seats(2, average: -5_000_000_000_000_000_000, nil).price == nil)
        let many = try Self.seats(.max, average: 9_990, nil)
        #expect(many.quantity == 1 && many.price?.milliunits == 9_990)
        let shared = try Self.seats(
            3, average: 9_990, nil,
            [
                "inAppOwnershipType": "FAMILY_SHARED",
                "additionalTransactionReason": "SEAT_ADDITION",
            ])
        #expect(shared.seats == Seats(isPart: true) && shared.netAmount == nil)
    }

    @Test func `refunds of Advanced Commerce items reduce the price of all seats`() throws {
        func item(_ refund: Int64, revokedAt: Int64?) -> JSON {
            .object(
                [
                    JSON.Member("SKU", "a"),
                    JSON.Member("refunds", [["refundAmount": .integer(refund)]]),
                ] + (revokedAt.map { [JSON.Member("revocationDate", .integer($0))] } ?? []))
        }
        func payment(revokedAt: Int64?) throws -> Payment {
            let items = JSON.array([item(30_000, revokedAt: revokedAt)])
            return try Self.seats(
                8, average: 10_000, nil, ["advancedCommerceInfo": ["items": items]])
        }
        #expect(try payment(revokedAt: nil).price?.milliunits == 50_000)
        let revoked = try payment(revokedAt: 1_700_000_900_000)
        #expect(revoked.price?.milliunits == 80_000 && revoked.netAmount?.milliunits == 50_000)
    }

    @Test func `a purchase of three units without seats has the transaction's price`() throws {
        let packs = try payment(["type": "Consumable", "quantity": 3, "expiresDate": .null])
        #expect(packs.price?.milliunits == 9_990 && packs.seats == nil && packs.quantity == 3)
        let single = try payment()
        #expect(single.seats == nil)
        let added = try payment(["additionalTransactionReason": "SEAT_ADDITION"])
        #expect(added.seats?.isPart == true && added.price?.milliunits == 9_990)
    }

    @Test(
        arguments: [
            (nil, nil), (0, nil), (-1, nil), (.max, nil), (1, 1), (7, 7),
            (2_147_483_647, 2_147_483_647),
        ] as [(Int64?, Int?)])
    func `the seats of the next period are the planned seats`(
        told: Int64?, seats: Int?
    ) throws {
        let renewal = try renewal([
            "originalTransactionId": "1", "autoRenewStatus": 1, "environment": "Production",
            "renewalQuantity": told.map { .integer($0) } ?? .null,
        ])
        #expect(renewal.seats == seats)
    }

    @Test func `the next period costs the sum over its tiers`() throws {
        func price(_ tiers: JSON) throws -> Int64? {
            try renewal([
                "originalTransactionId": "1", "autoRenewStatus": 1, "environment": "Production",
                "renewalPrice": 9_419, "currency": "USD", "renewalQuantity": 7,
                "multiSeatInfo": ["renewalPriceTiers": tiers],
            ]).price?.milliunits
        }
        #expect(try price(.null) == 65_933)
        #expect(try price(Self.tiers((9_990, 5), (7_990, 2))) == 65_930)
    }
}
