import Ledger
import Testing

@testable import Storage

private func copy(_ id: TransactionID, restoredAfter: Duration? = nil, refunded: Duration? = nil)
    -> Payment
{
    Payment(
        transaction: id, product: "guide", kind: .nonConsumable, from: now, until: nil,
        price: Money(milliunits: 4_990, currency: "USD"),
        revocation: refunded.map { Revocation(at: now + $0, kind: .refund) },
        restoredAt: restoredAfter.map { now + $0 })
}

private func fact(_ payment: Payment, signedAfter: Duration, _ grade: Grade = .signed) -> Fact {
    Fact(
        about: purchase, attestedAt: now + signedAfter, grade: grade, .payment(payment))
}

@Suite struct RestoredPurchaseRowsTests {
    private static let facts = [
        fact(copy("1000"), signedAfter: .zero),
        fact(copy("2000", restoredAfter: .hours(1)), signedAfter: .hours(1)),
        fact(copy("2000", restoredAfter: .hours(1)), signedAfter: .hours(2), .legacy),
        fact(copy("1000", refunded: .hours(3)), signedAfter: .hours(3)),
        fact(copy("1000"), signedAfter: .hours(4)),
    ]

    @Test(arguments: [
        nil, Seats(), Seats(refunded: 2, isPart: true, invitations: .developer),
        Seats(
            tiers: [Seats.Tier(price: 9_990, count: 5), Seats.Tier(price: .max, count: 1)],
            invitations: .other),
    ])
    func `the seats of a purchase are read as they were written`(seats: Seats?) throws {
        var paid = copy("1000")
        (paid.kind, paid.until, paid.seats) = (.autoRenewable, now + .days(30), seats)
        let facts = [fact(paid, signedAfter: .zero), fact(paid, signedAfter: .hours(1), .legacy)]
        let timeline = Timeline(of: purchase, facts)
        #expect(try Timeline(stored: timeline.stored, of: purchase) == timeline)
        for fact in facts {
            let read = try Fact(stored: fact.stored, about: purchase, attestedAt: fact.attestedAt)
            #expect(read == fact)
        }
    }

    /// The first byte of the stored form. This byte is twice the number of the layout. Few
    /// purchases need a later layout.
    @Test(
        arguments: [
            (nil, nil, 2, 2), (nil, Seats(), 2, 8), (4, nil, 9, 9), (1, Seats(), 9, 9),
        ] as [(Int?, Seats?, UInt8, UInt8)])
    func `planned seats are read as they were written, and do not change other rows`(
        planned: Int?, seats: Seats?, ofFact: UInt8, ofTimeline: UInt8
    ) throws {
        var paid = copy("1000")
        (paid.kind, paid.until, paid.seats) = (.autoRenewable, now + .days(30), seats)
        func renewal(_ grade: Grade, receivedAt: Instant? = nil) -> Fact {
            Fact(
                about: purchase, attestedAt: now + .hours(1), grade: grade,
                .renewal(
                    Renewal(
                        willRenew: true, renewsTo: "guide", receivedAt: receivedAt, seats: planned)
                ))
        }
        let signed = renewal(.signed)
        #expect(signed.stored.first == 2 * ofFact)
        let facts = [fact(paid, signedAfter: .zero), signed]
        #expect(Timeline(of: purchase, facts).stored.first == 2 * ofTimeline)
        let older = [renewal(.legacy), renewal(.legacy, receivedAt: now + .hours(3))]
        for more in [[], [older[0]], [older[1]], older] {
            let timeline = Timeline(of: purchase, facts + more)
            #expect(try Timeline(stored: timeline.stored, of: purchase) == timeline)
        }
        for fact in [signed] + older {
            let read = try Fact(stored: fact.stored, about: purchase, attestedAt: fact.attestedAt)
            #expect(read == fact)
        }
    }

    @Test(arguments: 0...5)
    func `copies of a purchase are read as they were written`(count: Int) throws {
        let facts = Self.facts.prefix(count)
        let timeline = Timeline(of: purchase, facts)
        #expect(try Timeline(stored: timeline.stored, of: purchase) == timeline)
        for fact in facts {
            let read = try Fact(
                stored: fact.stored, about: purchase, attestedAt: fact.attestedAt)
            #expect(read == fact)
        }
    }

    @Test func `proofs of purchase of the app are read as they were written`() throws {
        let app = PurchaseID(ofApp: "704", in: .production)
        let proofs = [(false, "417"), (true, "2100.1")].map { isOnMac, version in
            Fact(
                about: app, attestedAt: now,
                .appPurchase(
                    AppPurchase(
                        transaction: "704", from: now, version: version, isOnMac: isOnMac)))
        }
        for facts in [[proofs[0]], [proofs[1]], proofs] {
            let timeline = Timeline(of: app, facts)
            #expect(try Timeline(stored: timeline.stored, of: app) == timeline)
        }
    }
}
