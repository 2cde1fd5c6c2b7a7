import AccessRules
import Foundation
import Testing

@testable import Perennial
@testable import PerennialContract

/// Seats as an app sees them, based on the device's documents and on the server's answer.
@Suite struct SeatEvidenceTests {
    private static let noon: Int64 = 1_798_000_000_000
    private static let later: Int64 = 1_800_000_000_000

    /// A document of a group's purchaser, as StoreKit returns it.
    private func part(
        _ id: String, _ quantity: Int, from: Int64 = noon, revoked: Int? = nil,
        refunded: Int64? = nil, ownership: String? = "PURCHASED", isOrdinary: Bool = false
    ) throws -> StoreTransaction {
        var seats: [String: Any] = [
            "invitationManagement": "DEVELOPER",
            "priceTiers": [["price": 9990, "quantity": quantity]],
        ]
        seats["revokedSeatQuantity"] = revoked
        var fields: [String: Any] = [
            "transactionId": id, "originalTransactionId": "1", "productId": "pro.monthly",
            "type": "Auto-Renewable Subscription", "purchaseDate": from, "expiresDate": Self.later,
            "signedDate": from, "quantity": quantity,
            "additionalTransactionReason": "SEAT_ADDITION",
        ]
        if !isOrdinary { fields["multiSeatInfo"] = seats }
        fields["revocationDate"] = refunded
        fields["inAppOwnershipType"] = ownership
        let body = Base64URL.encode(try JSONSerialization.data(withJSONObject: fields))
        let payload = try #require(
            TransactionPayload(StoreDocument(jws: "e30.\(body).e30", isVerified: true)))
        return payload.makeTransaction(isHeld: false, firstSeenFor: nil)
    }

    private func shown(
        _ documents: [StoreTransaction], _ status: StoreStatus? = nil
    ) throws -> Perennial.Subscription {
        var state = EngineState(
            device: DeviceState(keys: KeyRing()), clock: ReckonedClock(), silentHold: 0)
        state.device.storeEvidence = StoreEvidence(
            transactions: Dictionary(uniqueKeysWithValues: documents.map { ($0.id, $0) }),
            statuses: status.map { ["1": $0] } ?? [:], isTrusted: true)
        let evidence = state.makeEvidence(at: Timestamp(milliseconds: Self.noon + 2))
        let snapshot = state.makeSnapshot(of: evidence).snapshot
        return try #require(snapshot.subscriptions.first)
    }

    @Test func `the seats of a period are the remaining seats of all its payments`() throws {
        let rows: [(String, [StoreTransaction], Int?)] = [
            ("one purchase", [try part("1", 5)], 5),
            ("seats were added", [try part("1", 5), try part("2", 2, from: Self.noon + 1)], 7),
            ("single seats are refunded", [try part("1", 5, revoked: 2)], 3),
            (
                "the added seats are refunded",
                [try part("1", 5), try part("2", 2, from: Self.noon + 1, refunded: Self.noon + 2)],
                5
            ),
            (
                "the first seats are refunded",
                [try part("1", 5, refunded: Self.noon + 2), try part("2", 2, from: Self.noon + 1)],
                2
            ),
            ("more are refunded than there are", [try part("1", 5, revoked: 9)], 0),
            ("an ordinary subscription", [try part("1", 1, isOrdinary: true)], nil),
            (
                "seats were added to an ordinary subscription",
                [try part("1", 1, isOrdinary: true), try part("2", 4, from: Self.noon + 1)], 5
            ),
            ("a member's transaction repeats them", [try part("1", 5, ownership: "ASSIGNED")], nil),
            ("a family's has none", [try part("1", 5, ownership: "FAMILY_SHARED")], nil),
            ("a document that does not name its owner", [try part("1", 5, ownership: nil)], 5),
            (
                "a number beyond all sense", [try part("1", .max), try part("2", .max)], .max
            ),
        ]
        for (claim, documents, seats) in rows {
            #expect(try shown(documents).seats?.count == seats, "\(claim)")
        }
    }

    @Test func `a refund of added seats leaves the subscription paid, with its offer`() throws {
        var first = try part("1", 5)
        first.details.offerType = 3
        let added = try part("2", 2, from: Self.noon + 1, refunded: Self.noon + 2)
        let left = try shown([first, added])
        #expect(left.state == .offer || left.state == .paid)
        #expect(left.offer?.kind == .code && left.seats?.count == 5)
        first.revokedAt = Timestamp(milliseconds: Self.noon + 2)
        let gone = try shown([first, added])
        #expect(gone.state == .refunded && gone.seats?.count == 0)
    }

    @Test func `the renewal info names the number of seats of the next period`() throws {
        func renewal(_ fields: String) throws -> StoreStatus? {
            let text = """
                {"originalTransactionId": "1", "signedDate": \(Self.noon), "autoRenewStatus": 1\
                \(fields)}
                """
            let document = StoreDocument(
                jws: "e30.\(Base64URL.encode(text.utf8)).e30", isVerified: true)
            return StoreRenewal(
                state: .subscribed, transaction: document, renewalInfo: document
            ).makeStatus()
        }
        let planned = try shown([try part("1", 5)], try renewal(#", "renewalQuantity": 3"#))
        #expect(planned.seats == .init(count: 5, atRenewal: 3))
        #expect(try shown([try part("1", 5)], try renewal("")).seats?.atRenewal == nil)
    }

    @Test func `the end of a seat's assignment does not count as a refund`() throws {
        let taken = try part("1", 5, refunded: Self.noon + 1, ownership: "ASSIGNED")
        let shown = try shown([taken])
        #expect(shown.state == .revoked && shown.ownership == .assigned)
    }

    @Test func `a document counts as new if its number of refunded seats has changed`() throws {
        let bought = try part("1", 5)
        #expect(bought.hasSameContent(as: try part("1", 5)))
        #expect(!bought.hasSameContent(as: try part("1", 5, revoked: 1)))
        #expect(!(try part("1", 5, revoked: 1).hasSameContent(as: try part("1", 5, revoked: 2))))
        let member = try part("1", 5, ownership: "ASSIGNED")
        #expect(member.hasSameContent(as: try part("1", 9, ownership: "ASSIGNED")))
    }

    @Test
    func `the server's answer has a group's seats, or the place in another customer's group`()
        throws
    {
        func subscription(_ id: String) -> PerennialContract.Subscription {
            PerennialContract.Subscription(
                purchaseID: "production:\(id)", productID: "pro.monthly",
                originalTransactionID: id, state: .paid,
                period: .init(from: Timestamp(milliseconds: Self.noon), until: nil),
                willRenew: true, renewsTo: nil, graceUntil: nil, price: nil,
                ownership: .purchased, environment: .production)
        }
        var paid = subscription("1")
        paid.seats = .init(count: 8, atRenewal: 6, claimed: 5)
        var seat = subscription("claim-1")
        (seat.ownership, seat.purchaseID) = (.init(rawValue: "assigned"), "claim-1")
        seat.seat = .init(claimID: "claim-1", standing: .waiting)
        var state = EngineState(
            device: DeviceState(keys: KeyRing()), clock: ReckonedClock(), silentHold: 0)
        state.answer = PerennialContract.Customer(
            customerID: "anna", environment: .production,
            asOf: Timestamp(milliseconds: Self.noon), subscriptions: [paid, seat])
        let evidence = state.makeEvidence(at: Timestamp(milliseconds: Self.noon))
        let snapshot = state.makeSnapshot(of: evidence).snapshot
        #expect(snapshot.groups.map(\.id) == ["1"])
        #expect(snapshot.groups.first?.seats == .init(count: 8, atRenewal: 6, members: 5))
        #expect(snapshot.memberships.map(\.id) == ["claim-1"])
        #expect(snapshot.memberships.first?.seat == .init(id: "claim-1", standing: .waiting))
    }
}
