import Ledger
import Testing

@testable import Engine
@testable import Storage

/// Finds the refunds caused by upgrades, which the App Store's event reports leave out.
@Suite struct TransactionSaleTests {
    private static let upgraded = now + .days(10)
    private static let ahead = now + .days(29)

    /// A period of one month that begins at a moment.
    private static func payment(
        _ id: TransactionID, _ product: ProductID, from: Instant, isRenewal: Bool = false
    ) -> Payment {
        Payment(
            transaction: id, line: "l\(id)", product: product, from: from,
            until: from + .days(30), price: Money(milliunits: 9_990, currency: "USD"),
            isRenewal: isRenewal)
    }

    private static func replaced(_ payment: Payment, at moment: Instant) -> Payment {
        var payment = refunded(payment, at: moment)
        payment.isUpgraded = true
        return payment
    }

    private static func refunded(_ payment: Payment, at moment: Instant) -> Payment {
        var payment = payment
        payment.revocation = Revocation(at: moment, kind: .refund, percentage: 66_666)
        return payment
    }

    /// The refunded sales of the days from a moment on, by transaction, and whether each was
    /// replaced.
    private static func refunds(
        of payments: [Payment], from moment: Instant = now
    ) async throws -> [TransactionID: Bool] {
        var found: [TransactionID: Bool] = [:]
        try await Driver.sqliteMemory.withStore { store in
            try await store.transaction { tx in
                try tx.money.beginFill(of: app)
                while try MoneyUpdates(tx).continueFill(of: app, at: now) > 0 {}
                let document = document(1, signedAt: now + .days(60))
                #expect(try tx.documents.insert(document))
                let facts = payments.map {
                    Fact(about: purchase, attestedAt: now + .days(60), .payment($0))
                }
                try DocumentRecorder(tx).project(facts, from: document)
            }
            let sales = try await store.read {
                try $0.appleReports.transactionSales(of: app, in: moment..<moment + .days(60))
            }
            for sale in sales where sale.refunded > 0 {
                found[sale.transaction] = sale.isReplaced
            }
        }
        return found
    }

    @Test
    func `a refund counts as part of an upgrade if the documents say so, even at equal times`()
        async throws
    {
        let first = Self.payment("1", "bronze", from: now)
        let second = Self.payment("2", "silver", from: Self.upgraded)
        let third = Self.payment("3", "gold", from: Self.upgraded)
        let once = try await Self.refunds(of: [Self.replaced(first, at: Self.upgraded), second])
        #expect(once == ["1": true])
        let twice = try await Self.refunds(of: [
            Self.replaced(first, at: Self.upgraded), Self.replaced(second, at: Self.upgraded),
            third,
        ])
        #expect(twice == ["1": true, "2": true])
        let bought = try await Self.refunds(of: [Self.refunded(first, at: Self.upgraded), second])
        #expect(bought == ["1": false])
    }

    @Test
    func `the refund of an early-charged renewal that an upgrade replaced belongs to the upgrade`()
        async throws
    {
        let first = Self.replaced(Self.payment("1", "bronze", from: now), at: Self.ahead)
        let renewal = Self.payment("2", "bronze", from: now + .days(30), isRenewal: true)
        let other = Self.payment("3", "silver", from: Self.ahead)
        #expect(try await Self.refunds(of: [first, renewal, other]) == ["1": true, "2": true])
        // This is also true if the days of the report begin after the purchase of the other
        // product.
        let late = try await Self.refunds(of: [first, renewal, other], from: now + .days(30))
        #expect(late == ["2": true])
        let asked = Self.refunded(renewal, at: now + .days(28))
        let own = try await Self.refunds(of: [first, asked, other], from: now + .days(30))
        #expect(own == ["2": false])
    }
}
